"""Names of weekdays and months as records write them, in the languages of official statistics.

A name means one day or month across all of these languages: short names that mean another day
elsewhere are left out, such as the Czech "so" for Saturday, which is Sunday in German.
"""

from __future__ import annotations

from functools import cache

from geodp.io.read.rows.names import fold

WEEKDAYS = (
    "monday mon mo montag lundi lun lunes lunedì lunedi segunda segunda-feira seg maandag ma "
    "måndag mån må mandag man maanantai poniedziałek pon pondělí pondeli pondelok hétfő hétfo "
    "понедельник пн понеділок Δευτέρα pazartesi pzt luni 月 月曜 月曜日 星期一 "
    "周一 週一 礼拜一 월 월요일 senin",
    "tuesday tue tues tu dienstag di mardi mar martes martedì martedi terça terça-feira "
    "terca terca-feira ter dinsdag tisdag tis tirsdag tir tiistai ti wtorek wt úterý utery utorok "
    "kedd вторник вт вівторок Τρίτη salı marți 火 火曜 火曜日 星期二 周二 週二 礼拜二 화 화요일 "
    "selasa",
    "wednesday wed weds we mittwoch mi mercredi mer miércoles miercoles mié mie mercoledì "
    "mercoledi quarta quarta-feira qua woensdag wo onsdag ons on keskiviikko ke środa środę śr "
    "sroda středa streda szerda среда ср середа Τετάρτη çarşamba miercuri 水 水曜 水曜日 星期三 "
    "周三 週三 礼拜三 수 수요일 rabu",
    "thursday thu thur thurs th donnerstag do jeudi jeu jueves jue giovedì giovedi gio quinta "
    "quinta-feira qui donderdag torsdag tors tor torstai to czwartek czw čtvrtek ctvrtek štvrtok "
    "csütörtök четверг чт четвер Πέμπτη perşembe joi 木 木曜 木曜日 星期四 周四 週四 "
    "礼拜四 목 목요일 kamis",
    "friday fri fr freitag vendredi ven viernes vie venerdì venerdi sexta sexta-feira sex vrijdag "
    "vr fredag fre perjantai pe piątek piatek pt pátek patek piatok péntek пятница пт п'ятниця "
    "Παρασκευή cuma vineri 金 金曜 金曜日 星期五 周五 週五 礼拜五 금 금요일 jumat",
    "saturday sat sa samstag sonnabend samedi sam sábado sabado sáb sab sabato zaterdag za lördag "
    "lör lö lørdag lør lauantai la sobota sob szombat суббота сб субота Σάββατο cumartesi sâmbătă "
    "土 土曜 土曜日 星期六 周六 週六 礼拜六 토 토요일 sabtu",
    "sunday sun su sonntag so dimanche dim domingo dom domenica zondag zo söndag sön sö søndag søn "
    "sunnuntai niedziela niedz nd neděle nedele nedeľa vasárnap воскресенье вс неділя Κυριακή "
    "pazar duminică 日 日曜 日曜日 星期日 星期天 周日 週日 礼拜日 일 일요일 minggu",
)
"""Names of Monday to Sunday."""

MONTHS = (
    "january jan januar jänner janvier janv enero ene gennaio gen janeiro januari tammikuu "
    "styczeń sty leden январь янв січень Ιανουάριος ocak ianuarie 一月 tháng1",
    "february feb februar février fevrier févr fevr fév febrero febbraio fevereiro fev februari "
    "helmikuu luty lut únor unor февраль фев лютий Φεβρουάριος şubat februarie 二月",
    "march mar märz maerz mrz mär mars marzo março marco maart mrt marts maaliskuu marzec březen "
    "brezen март мар березень Μάρτιος mart martie 三月",
    "april apr avril avr abril abr aprile huhtikuu kwiecień kwi duben апрель апр квітень Απρίλιος "
    "nisan aprilie 四月",
    "may mai mayo maggio mag maio mei maj toukokuu květen kveten май травень Μάιος mayıs 五月",
    "june jun juni juin junio giugno giu junho kesäkuu czerwiec cze červen cerven июнь июн червень "
    "Ιούνιος haziran iunie 六月",
    "july jul juli juillet juil julio luglio lug julho heinäkuu lipiec lip červenec cervenec июль "
    "июл липень Ιούλιος temmuz iulie 七月",
    "august aug août aout agosto ago augustus augusti elokuu sierpień sie srpen август авг серпень "
    "Αύγουστος ağustos 八月",
    "september sep sept septembre septiembre settembre set setembro syyskuu wrzesień wrz září zari "
    "сентябрь сен вересень Σεπτέμβριος eylül septembrie 九月",
    "october oct oktober okt octobre octubre ottobre ott outubro out lokakuu październik paź říjen "
    "rijen октябрь окт жовтень Οκτώβριος ekim octombrie 十月",
    "november nov novembre noviembre novembro marraskuu listopad ноябрь ноя Νοέμβριος kasım "
    "noiembrie 十一月",
    "december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro joulukuu "
    "grudzień gru prosinec декабрь дек грудень Δεκέμβριος aralık decembrie 十二月",
)
"""Names of January to December."""

NAMES = {"weekday": WEEKDAYS, "month": MONTHS}
"""Names by the attribute whose labels they are."""


def find_number(attribute: str, text: str) -> str | None:
    """Return the number, from 1, of the weekday or month that a text names; None without one.

    Case and a final full stop are ignored.

    Examples
    --------
    >>> find_number("weekday", "Mon."), find_number("weekday", "日"), find_number("month", "août")
    ('1', '7', '8')
    """
    return _numbers(attribute).get(fold(text).rstrip("."))


@cache
def _numbers(attribute: str) -> dict[str, str]:
    return {
        fold(name): str(number)
        for number, names in enumerate(NAMES.get(attribute, ()), start=1)
        for name in names.split()
    }
