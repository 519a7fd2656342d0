"""The page in Japanese: the sentences and terms of :mod:`geodp.features.explain.english`."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "title_differencing": "学級についての七つの問いから何が分かるか",
    "heading_class": "学級",
    "class_known": "ある学級の {pupils:n} 人について、名前、男女、部は誰もが知っています。",
    "class_target": "成績は秘密です。誰かが最高の成績の人数を聞き、音楽部のただ一人の女子である "
    "{name} の成績を知ろうとします。",
    "heading_questions": "七つの問い",
    "questions_table": "次の表は、正確な答えと、雑音を加えた答えです。それぞれの後に、{name} が最"
    "高の成績である確率を示します。",
    "column_question": "最高の成績の人数",
    "column_exact": "正確な答え",
    "column_ways": "残る場合の数",
    "column_known": "確率",
    "column_noisy": "雑音あり",
    "column_believed": "その確率",
    "ask_all": "全員",
    "ask_boys": "男子",
    "ask_chess": "チェス部",
    "ask_tennis": "テニス部",
    "ask_music": "音楽部",
    "ask_not_chess": "チェス部の外",
    "ask_not_chess_not_target": "チェス部の外（{name} を除く）",
    "heading_subtracted": "引き算から分かること",
    "subtracted_exact": "最後の二つの正確な答えは {sixth} と {seventh} です。一人についての問いは"
    "無いのに、{name} が最高の成績だと分かります。",
    "subtracted_noisy": "雑音を加えた二つの答えは {sixth} と {seventh} で、差からはほとんど分かり"
    "ません。",
    "subtracted_bound": "すべての答えを合わせたイプシロンは {epsilon:n} です。何を引いても、"
    "{prior:p} の確率は最大でも {most:p} にしかなりません。",
    "title": "公開物 {release_id}（{name}）から何が分かるか",
    "not_private": "この公開物は保護されていません。雑音を誰でも計算して取り除けます。",
    "nothing_holds": "したがって手法の約束は何も成り立たず、説明はここで終わります。",
    "heading_promise": "約束されていること",
    "suppose_add": "もし{unit}が数えられなかったら、または余分に数えられたら、と考えます。",
    "suppose_replace": "もし{unit}の代わりに別のものが数えられたら、と考えます。",
    "suppose_local": "もし{unit}が別の場所から報告を送っていたら、と考えます。",
    "factor": "そのとき、誰かが見るどの結果の確率も、違いがないときの最大 {factor:n} 倍です。",
    "factor_but": "そのとき、どの結果の確率も、{one_in:n} 回に一回を除き、違いがないときの最大 "
    "{factor:n} 倍です。",
    "named_epsilon": "この近さをイプシロンで測ります。ここでは {epsilon} です。",
    "named_rho": "この近さをローで測ります。ここでは {rho} です。",
    "named_delta": "公表者はイプシロンとデルタで {epsilon} と {delta} と述べています。",
    "bound_enforced": "{unit}が全体の合計に加える数は最大 {contribution:n} で、geodp が確かめまし"
    "た。",
    "bound_vouched": "{unit}が全体の合計に加える数が最大 {contribution:n} なら成り立ちます。これは"
    "公表者が保証します。",
    "bound_layout": "{unit}が全体の合計に加える数が最大 {contribution:n} なら成り立ちます。公的な"
    "表の形式がそう定めています（{layout}）。",
    "trust_local": "{unit}ごとに自分で雑音を加えるので、他の誰も信用する必要はありません。",
    "period_local": "これは一つの報告について成り立ちます。{unit}は期間ごとに最大 {contribution:n} "
    "回送ります。",
    "heading_beliefs": "何を突き止められるか",
    "beliefs_add": "誰かが、{unit}が数えられたのではと思い、その後でここに公表されたすべてを読むと"
    "します。",
    "beliefs_any": "誰かが{unit}について何かを思い、その後でここに公表されたすべてを読むとします。",
    "beliefs_half": "前の確率が {half:p} なら、読んだ後は {least:p} から {most:p} の間です。",
    "beliefs_where": "{unit}がどこにいたかを問うときも同じです。",
    "beliefs_table": "次の表は、ほかの場合に、前の確率が後にいくつになりうるかを示します。",
    "beliefs_but": "{one_in:n} 回に一回は、それ以上動くことがあります。",
    "beliefs_independent": "これは人々が互いに独立な場合に成り立ちます。",
    "rounded": "この説明の数は丸めてあります。",
    "column_before": "前の確率",
    "column_least": "後の最小",
    "column_most": "後の最大",
    "heading_where": "{unit}がどこで数えられたかを突き止められるか",
    "where": "誰かが、{unit}が数えられたことを知っていて、ある場所ではないかと思うとします。",
    "where_half": "その場所である前の確率が {half:p} なら、読んだ後は {where_least:p} から "
    "{where_most:p} の間です。",
    "where_but": "{where_one_in:n} 回に一回は、それ以上動くことがあります。",
    "heading_guess": "最も良い賭け",
    "guess_add": "{unit}が数えられたかどうかに賭けます。どちらも同じ確率とします。",
    "guess_replace": "二つのうちどちらが数えられたかに賭けます。どちらも同じ確率とします。",
    "guess_local": "{unit}が二つの場所のどちらにいたかに賭けます。どちらも同じ確率とします。",
    "guess_right": "最も良い賭けでも、当たるのは最大 {right:p} です。硬貨を投げて決めれば {half:p} "
    "です。",
    "guess_advantage": "当たりから外れを引いた差は、全体の最大 {advantage:p} です。",
    "heading_households": "世帯",
    "households": "世帯の人々には、同じことが当てはまることがよくあります。",
    "households_epsilon": "全員に当てはまるか誰にも当てはまらないことは、より多く分かります。どれ"
    "ほどかは次の表にあります。",
    "households_rho": "全員に当てはまるか誰にも当てはまらないとき、ローは人数の二乗で増えます。",
    "column_people": "人数",
    "heading_subtract": "合計の引き算をすると",
    "subtract_exact": "正確な表なら、{unit}だけ違う二つの合計から、その違いが分かります。",
    "subtract_noise": "ここではすべての合計に雑音があり、何を計算しても残ります。",
    "subtract_cell": "一つのセルの標準誤差は {error:n} で、{unit}が変えるのは最大 {contribution:n} "
    "です。",
    "subtract_width": "一つの測定の雑音の幅は少なくとも {error:n} で、{unit}が変えるのは最大 "
    "{contribution:n} です。",
    "subtract_ratio": "{unit}の変化は、その {ratio:n} 倍の雑音に隠れます。",
    "subtract_bound": "どの合計や差も、上の表より遠くまで確率を動かしません。",
    "heading_errors": "数値の誤差",
    "errors_table": "次の表は、セルのブロックの合計の標準誤差です。",
    "errors_unknown": "誤差は実際の人々によって変わるので、カードには書けません。",
    "errors_clamped": "これは、負の数を直す必要がなかった所で成り立ちます。",
    "column_cells": "セル数",
    "column_error": "標準誤差",
    "lone_cell": "空いた地域に人の多いセルが一つだけあると、平均で {bias:n} 少なくなります。",
    "lone_error": "その典型的な誤差は {rmse:n} です。",
    "lone_block": "空いた地域にある {cells:n} セルの集落は、平均で {bias:n} 少なくなります。",
    "limit": "全体で {people:n} 人なら、{cells:n} セルより小さいブロックの数値は、零と同じ程度しか"
    "役に立ちません。",
    "limit_cell": "全体で {people:n} 人なら、一つのセルの数値でも零より役に立ちます。",
    "limit_none": "全体で {people:n} 人なら、地図全体の合計も零と同じ程度しか役に立ちません。",
    "limit_unknown": "全体の人数の見込みがないので、役に立つ最小のブロックは書かれていません。",
    "heading_open": "保護されないこと",
    "open_town": "町全体について言えることは隠されません。それを示すための公開物です。",
    "open_others": "同じ人々についての雑音のない別の表は、この約束に含まれません。",
    "open_domain": "セルの一覧とカードに書かれたことはすべて公開です。",
    "open_releases": "同じ人々についての別の公開物の分は、これに加わります。",
    "open_groups": "人々の集まりの保護は弱くなります。世帯の項を見てください。",
    "open_key": "保管した鍵と入力が同じ二つの公開物は同一になり、それは誰にでも分かります。",
    "open_row": "どのファイルも少なくとも一行が数えられたことは分かります。一人も加えないファイル"
    "は断られます。",
    "open_sums": "他の区分の合計である区分が、加える数の上限に収まることは分かります。",
    "open_part": "参加したことと報告の数は公開です。",
    "open_reports": "同じ端末の次の報告の分は、これに加わります。",
    "open_network": "報告の通信の住所と時刻は保護されません。",
    "open_quoted": "カードの原文：{quoted}",
    "spent": "同じ人々についての以前の公開物 {earlier:n} 件と合わせて {spent} を使いました。上限は "
    "{cap} です。",
    "spent_unknown": "この公開物はどの台帳にも記録されていないので、合計は誰にも分かりません。",
    "loss_epsilon": "イプシロン {epsilon}",
    "loss_rho": "ロー {rho}",
    "loss_delta": "イプシロン {epsilon} とデルタ {delta}",
    "selection_title": "選択 {release_id} から何が分かるか",
    "heading_answer": "何を尋ね、答えはどれほど確かか",
    "asked_top": "どのセルに人が最も多いかを尋ねました。",
    "asked_areas": "段階 {level} のどの区域に人が最も多いかを尋ねました。",
    "asked_level": "イプシロン {next_epsilon} の公開物の誤差が最小になる段階を尋ねました。",
    "asked_quantile": "{axis} に沿って、全体の {q} の人々がどこで終わるかを尋ねました。",
    "asked_median-centre": "両側の人数が同じになる行と列を尋ねました。",
    "selection_named": "{candidates:n} の候補から {chosen:n} を選びました。数は公開していません。",
    "selection_lot": "くじで選びました。良い候補ほど選ばれやすくなります。",
    "near_top": "どの回でも、残る最も良い場所より人が {behind:n} 少ない場所は、確率が半分以下です"
    "。",
    "near_level": "最も良い段階より誤差が {behind:n} 大きい段階は、選ばれる確率が半分以下です。",
    "near_quantile": "最も良い場所より {behind:n} 人ずれた場所は、選ばれる確率が半分以下です。",
    "near_median-centre": "最も良い行や列より {behind:n} 人ずれた所は、選ばれる確率が半分以下です"
    "。",
    "selection_empty": "人が {below:n} より少ない所では、誰もいない場所が選ばれることもあります。",
    "selection_all": "選ばれた順に次の表に示します。",
    "selection_some": "選ばれた順に初めの分を次の表に示します。すべてはカードにあります。",
    "open_counts": "選ばれた場所の人数は公開していません。公開すればその分が加わります。",
    "audit_title": "小さい数を除いた標本の表から何が分かるか",
    "audit_rate": "どの記録も確率 {rate:p} で選ばれ、どれが選ばれたかを誰も知らなければ成り立ちま"
    "す。",
    "audit_threshold": "{threshold:n} より小さい数は除かれ、セルはデータを見る前に決められている必"
    "要があります。",
    "audit_measure": "この近さをイプシロンとデルタで測ります。ここでは {epsilon:n} と {delta:n} で"
    "す。",
    "audit_exact": "数に雑音はありません。標本の正確な数です。",
    "audit_drawn": "{unit}が選ばれたことを誰かが知れば、何も成り立ちません。",
    "audit_again": "同じ標本から作った別の表があると、雑音があっても成り立ちません。",
    "households_delta": "全員に当てはまるか誰にも当てはまらないとき、イプシロンは足され、デルタは"
    "さらに増えます。",
    "heading_words": "言葉",
    "word": "{term}：{meaning}。",
}

TERMS: Mapping[str, str] = {
    "カード": "公開物の作り方を書いた release.json というファイル",
    "セル": "地図の一つのます目、またはその中の一つの区分",
    "ブロック": "一つの四角に並んだセル",
    "雑音": "誰かが見る前に数に加えられた乱数",
    "測定": "雑音が加えられた数または数の差",
    "確率": "起こりやすさ、または正しいと思う度合い",
    "標準誤差": "真の数との典型的な隔たり",
    "イプシロン": "確率が動く大きさの上限。小さいほど強く守ります",
    "ロー": "釣り鐘の形の雑音で測った、確率が動く大きさ。小さいほど強く守ります",
    "デルタ": "イプシロンが成り立たない場合の割合",
    "台帳": "一つのデータについて使った分の記録",
    "保管した鍵": "同じ雑音をもう一度作れる秘密の数",
    "公開物": "公開された表と地図、およびそのカード",
    "独立": "一人について知っても他の人について何も分からないこと",
    "段階": "地図のセルや区域の大きさ",
    "世帯": "一緒に住む人々",
    "報告": "一つの端末が送るもの",
    "標本": "くじで選ばれた記録",
}

UNITS: Mapping[str, str] = {
    "person": "一人",
    "household": "一つの世帯",
    "trip": "一つの移動",
    "person-day": "一人の一日",
    "device": "一つの端末",
}
"""Words for one unit of privacy."""

ONE = "一つの {unit} "
"""How any other unit is said."""
