"""The page in Japanese: the sentences of :mod:`geodp.release.report.html.english`."""

from __future__ import annotations

from collections.abc import Mapping

PAGE: Mapping[str, str] = {
    "subtitle": "公開物 {release_id}（{software} で作成）。",
    "title_squares": "{who}数: {rows:,} × {cols:,} 区画{km}",
    "title_pairs": "{rows:,} × {cols:,} 区画{km}の間の{who}数",
    "title_areas": "{who}数: {cells:,} 地域",
    "title_side": "（一辺およそ {side}）",
    "who_persons": "人",
    "fact_what": "内容",
    "fact_where": "場所",
    "fact_all": "全体",
    "fact_when": "数の時点",
    "fact_published": "公表日",
    "fact_publisher": "公表者",
    "fact_no_date": "公表者の記載がありません",
    "bounds": "{south}～{north}、{west}～{east}",
    "degrees_north": "北緯{value}°",
    "degrees_south": "南緯{value}°",
    "degrees_east": "東経{value}°",
    "degrees_west": "西経{value}°",
    "months": "1 2 3 4 5 6 7 8 9 10 11 12",
    "date": "{year}年{month}月{day}日",
    "period": "から",
    "not_private": "保護されていません。雑音は試験用の固定鍵で作られ、誰でも取り除けます。",
    "intro": "このページの数は正確な数ではありません。{unit}について多くのことが突き止められないよ"
    "うに、誰かが見る前に、わざと偶然の数（雑音）を加えてあります。{amount}多くの区画の合計は確か"
    "ですが、一つ一つの区画は確かでないことがよくあります。地図はまず、信じてよいものだけを示しま"
    "す。",
    "skip": "地図へ",
    "contents": "このページの内容",
    "heading_map": "地図",
    "map_label": "公開された数の地図。矢印キーで十字を動かすとその場所の値を読み上げ、プラスとマイ"
    "ナスで拡大と縮小、0 で全体を示します。",
    "map_help": "ドラッグで移動します。拡大と縮小はボタン、二本の指、または地図を選んでから（ある"
    "いは Ctrl を押しながら）ホイールで行います。矢印キーで十字が動き、その場所の値が示されます。"
    "地域を描く間は Enter と Space も使えます。",
    "map_wait": "地図を展開しています。",
    "map_failed": "このブラウザーでは地図を展開できません。公開物のファイルにすべてがあります。",
    "map_script": "地図には JavaScript が必要です。ほかの部分はなくても読めます。",
    "no_map": "この公開物に地図はありません。セルが場所ではないためです。",
    "level": "区画の大きさ",
    "layer": "表示",
    "belief": "信じてよいものだけを示す",
    "belief_help": "誤差の幅は、雑音によって数がどれほどずれうるかを示します。20の数のうち19は、ず"
    "れがそれより小さくなります。数が誤差の幅のこの倍数以上ある区画に色を付けます。ほかの区画の数"
    "は、合計が十分になるまで、より大きい区画で足していき、淡い色で示します。それでも足りないとこ"
    "ろはベージュのままです。設定を厳しくしても、ゆるい設定でベージュだった土地に色が付くことはあ"
    "りません。0 ではすべての区画を公開されたまま示します。",
    "belief_unknown": "この公開物の誤差は人々のデータそのものに依存するため、何を信じてよいかをこ"
    "のページでは判断できず、すべての区画を示します。",
    "zoom_in": "拡大",
    "zoom_out": "縮小",
    "zoom_all": "全体",
    "legend": "凡例",
    "legend_per_km2": "{what}／km²",
    "legend_per_cell": "{what}／区画",
    "legend_none": "なし（公表値が0）",
    "legend_few": "数が0を超え{limit:,}未満",
    "legend_water": "水域",
    "legend_pale": "左の枠は区画そのものの値。右の淡い枠は、それを含むより大きい区画の、陸地での平"
    "均。",
    "legend_untold": "少ないかいない（雑音のため分からない）",
    "legend_shore": "海岸の、人のいない区画は、水域の割合に応じて水域の色になります。0を超える値は"
    "必ず示します。",
    "legend_outside": "この公開物の対象外",
    "legend_below": "0未満（雑音による）",
    "legend_coast": "陸地、海岸線、国境: Natural Earth 1:10m（パブリックドメイン）。場所により1 km"
    "以上の誤差があり、小さな島は含まれないことがあります。",
    "heading_places": "場所とその合計",
    "places_help": "場所を検索するか、一覧を並べ替えてください。どの文もそのまま引用できます。「"
    "95%の確かさ」とは、このような区間20のうちおよそ19が、雑音のない数を含むという意味です。二つの"
    "場所を比べるには、両方で「比べる」を選んでください。区間が重なるときは、違いが偶然かもしれま"
    "せん。",
    "places_squares": "公表者がこのページに地名の一覧を与えていないため、場所は地図の区画です。",
    "places_missing": "ここに場所の一覧はありません。この公開物では、場所の合計がどれほどずれてい"
    "るかを言えないためです。",
    "search": "場所を探す",
    "sort": "並べ方",
    "sort_sum": "合計の大きい順",
    "sort_sure": "確かな順",
    "sort_name": "名前の順",
    "more": "さらに表示",
    "readout": "ポインターの場所",
    "heading_areas": "自分で選んだ地域の数",
    "areas_help": "地図に地域を描くか、頂点を入力するか、GeoJSON ファイルを読み込んでください。中"
    "心が中にあるすべての区画の公開値を足し、合計がどれほどずれうるかを示します。データはブラウザ"
    "ーの外に出ません。",
    "draw": "地域を描く",
    "clear": "すべて消す",
    "points": "頂点（一行に一つ、度で表した経度と緯度。二行なら長方形）または GeoJSON",
    "points_cells": "頂点（一行に一つ、列と行。二行なら長方形）",
    "estimate": "合計する",
    "file": "GeoJSON ファイル（経度と緯度）",
    "projection_off": "度はこのページの表で地図の座標（{crs}）に変換します。ずれは最大およそ {off}"
    " m です。",
    "estimates": "選んだ地域の合計",
    "column_cells": "区画",
    "column_error": "典型的な誤差",
    "no_areas": "選んだ地域の合計は、このページでは計算しません。{why}",
    "no_pairs": "出発地と到着地の公開物のためです。地図はそれぞれの、他方すべてにわたる合計を示し"
    "ます。Python の Release.estimate は両方のセルを扱えます。",
    "no_regions": "セルが公表者の地域表の順に並んでいて、誤差の式に表の全体が要るためです。geodp "
    "estimate を使ってください。",
    "no_room": "公開物が大きすぎるためです。geodp estimate を使ってください。",
    "no_closed_form": "この手法には地域の誤差の式がないためです。",
    "drops": "この手法は小さな数を落とし、それで失われる分をこのページでは計算しないためです。",
    "heading_read": "読み方",
    "read_1": "まず大きな地域を読んでください。数に比べて誤差が小さいからです。",
    "read_2": "どの数も区間とともに読んでください。区間20個のうちおよそ19個が雑音のない数を含みま"
    "す。",
    "read_3": "0 は「少ないかいない」という意味で、「誰もいない」ではありません。",
    "read_4": "二つの場所は区間で比べてください。区間が重ならないときに限り、違いに意味があります"
    "。",
    "not_1": "区間が0から始まる一つの区画を引用しないでください。人のいる区画が 0 に、いない区画が"
    "正の数になることがあります。",
    "not_2": "大きく見える区画だけを選んで足さないでください。合計が大きくなりすぎます。",
    "not_3": "雑音を間違いと思わないでください。人々を守るためのもので、大きさは分かっています。",
    "not_4": "{unit}を探さないでください。一つの違いは雑音に隠れています。",
    "read_yes": "すること",
    "read_no": "しないこと",
    "heading_guarantee": "人々にとっての意味",
    "heading_error": "数はどれほどずれるか",
    "error_why": "加える雑音は、人の多い場所でも少ない場所でも同じです。広い地域ほど人は多く、誤差"
    "はそれほど増えません。そのため誤差の割合は小さくなります。一つの区画は普通 {first} ほど、"
    "{cells:,} 区画の合計は {last} ほどずれます。その {more} 倍にすぎません。",
    "error_dip": "広い地域のほうが、ずれが小さいことさえあります。{more:,} 区画の合計は "
    "{less_error}、{fewer:,} 区画の合計は {error} です。雑音は決まった大きさの合計に直接加えられ、"
    "その量は大きさごとに違います。間の大きさの合計には、部分の雑音が集まります。",
    "error_lone": "周りに人のいない所に人の多い区画が一つだけあると、平均で {bias} 少なくなります"
    "。その典型的な誤差は {rmse} です。",
    "error_chart": "足し合わせる区画の数ごとの典型的な誤差と95%誤差幅",
    "error_chart_text": "{first}区画で典型的な誤差 {first_error}、{last}区画で {last_error}。すべ"
    "ての値は下の表にあります。",
    "error_unknown": "誤差は人々のデータそのものに依存し、式はありません。",
    "error_table": "区画の合計の誤差: 合計20のうち19は、ずれが95%誤差幅より小さい",
    "error_levels": "各段階の地域の誤差（単位は数）",
    "column_level": "段階",
    "column_margin": "95%誤差幅",
    "column_largest": "場所による最大",
    "axis_cells": "足し合わせる区画の数",
    "axis_error": "ずれ",
    "heading_budget": "プライバシー予算: 使った保護の量",
    "budget_none": "この公開物は台帳（プライバシー予算の累計）に記録されていません。同じ人々につい"
    "てほかに公表された分を合計する人はいません。",
    "budget_entry": "台帳にあるこの公開物の記録です。台帳は、同じ人々について公表されたすべてのプ"
    "ライバシー予算の累計です。ほかの記録は公開物に含まれません。",
    "term_spends": "この公開物が使った分",
    "term_dataset": "データ",
    "term_spent": "これを含めた合計",
    "term_cap": "上限",
    "term_earlier": "以前の公開物の数",
    "term_entry": "記録の番号",
    "term_ledger": "台帳",
    "term_chain": "ハッシュ連鎖",
    "heading_domain": "地図の技術的な説明",
    "term_cells": "対象のセル（空のセルを含む）",
    "term_axes": "軸",
    "term_grid": "コード体系",
    "term_crs": "座標参照系",
    "term_degrees": "地図の端",
    "term_bounds": "この参照系での西、南、東、北",
    "term_mask": "対象地域の出典",
    "no_mask": "範囲内のすべてのセル",
    "term_reading": "入力の読み方",
    "term_unit": "保護の単位",
    "term_neighbours": "隣り合うデータ",
    "term_attributes": "属性",
    "heading_hazards": "起こりうる問題",
    "hazards_table": "注意深い読者の問い",
    "hazard_key": "雑音の乱数を突き止めて、取り除くことができるか",
    "hazard_bound": "{unit}が決まりより多く数えられたことはあるか",
    "hazard_budget": "同じ人々についての多くの公表物を合わせると、明かしすぎになることはあるか",
    "hazard_domain": "地図の場所の選び方から何か分かるか",
    "hazard_float": "コンピューターの丸めから何か分かるか",
    "hazard_time": "計算にかかった時間から何か分かるか",
    "hazard_clamp": "平均して大きすぎる、または小さすぎる数はあるか",
    "hazard_others": "同じ人々についてのほかの表から何か分かるか",
    "column_hazard": "問い",
    "column_answer": "答え",
    "column_who": "保証する者",
    "by_tool": "geodp",
    "by_office": "公表者",
    "by_nobody": "なし",
    "answer_key": "いいえ（{key}）。",
    "answer_key_not": "はい（{key}）。",
    "answer_enforced": "いいえ。すべての数の合計に加わるのはそれぞれ最大 {bound} です。geodp が守"
    "らせました。",
    "answer_vouched": "すべての数の合計に加わるのがそれぞれ最大 {bound} なら、ありません。",
    "answer_layout": "すべての数の合計に加わるのがそれぞれ最大 {bound} なら、ありません。公的な表"
    "の形式がそう定めています（{layout}）。",
    "answer_local": "いいえ。端末が自分の報告を送る前にぼかします。送るのは期間ごとに最大 {bound} "
    "回です。",
    "answer_budget": "いいえ。台帳がすべてを記録し、明かしすぎになるものを拒みます。",
    "answer_budget_none": "ありえます。記録する人はいません。同じ人々についてのほかの公表物の分が"
    "、この公開物の分に加わります。",
    "answer_box": "いいえ。人がいてもいなくても、長方形の中のすべての区画です。",
    "answer_mask": "前から公開されていて、このデータを使わずに作られたものなら分かりません。出典: "
    "{source}",
    "answer_whole": "いいえ。雑音を加えるまで、すべて整数と正確な分数で計算します。",
    "answer_time": "ファイルの読者には何も分かりません。動いているコンピューターを見られる人には、"
    "分かることがありえます。",
    "answer_clamp": "はい。0を下回る数は 0 とし、その分を周りの区画から引きました。そのため孤立し"
    "た場所は少なく出ます。",
    "answer_signed": "いいえ。0未満の数は雑音で、地域の合計にはそのまま含める必要があります。",
    "answer_others": "雑音のない表なら、分かることがあります。この保護はそれには及びません。",
    "not_protected": "保護されないこと（公開物の記載）:",
    "heading_office": "公表者から",
    "office_own": "公表者自身の言葉です。geodp は内容を確かめません。",
    "office_none": "この公開物には、表題、利用条件、連絡先についての公表者の記載がありません。",
    "office_few": "公表者の表示の規則により、このページでは 0 より大きく {limit:,} に満たない数を"
    "、地域の合計も含めて「{limit:,}未満」と示し、区間は示しません。この規則は保護ではなく、保護す"
    "るのは雑音です。公開値はファイルとこのページのソースにあります。",
    "heading_registry": "導入事例登録簿への記録",
    "registry": "Differential Privacy Deployments Registry 用の記録です。カードの事実と公表者の記"
    "載からなります。JSON ですが YAML としても読めます。",
    "heading_files": "ファイル",
    "files_table": "公開物のファイルとチェックサム",
    "column_file": "ファイル",
    "column_what": "内容",
    "files_left": "含まれないもの:",
    "heading_method": "数の作り方",
    "term_method": "手法",
    "term_source": "文献",
    "term_noise": "雑音",
    "term_settings": "設定",
    "term_software": "ソフトウェア",
    "term_schema": "カードの形式",
    "post_processing": "雑音を加えた値に行ったこと:",
    "made": "このページは geodp report が公開フォルダーだけから作りました。ネットワークからは何も"
    "読み込みません。",
    "embed_map": "{title}{end}: 公開された数の地図。最も大きな場所の一覧が後にあります。",
    "embed_origins": "、出発地別",
    "embed_destinations": "、到着地別",
    "embed_believe": "信じてよいのは、数が雑音より大きい、色の付いた区画です。ほかの区画では、雑音"
    "が数と同じほど大きいことがあります（95%誤差幅: {margin}）。広い地域の合計ほど確かです。{unit}"
    "について分かることは、雑音により限られています。",
    "embed_unknown": "信じてよいのは、一つ一つの区画よりも、多くの区画の合計です。区画の誤差はここ"
    "では分かりません。{unit}について分かることは、雑音により限られています。",
    "embed_largest": "最も大きな場所",
    "embed_source": "海岸線と国境: Natural Earth。",
    "intro_amount": "一つの区画は普通 {error} ほどずれています。",
    "belief_more": "この設定の意味",
    "places_overlap": "互いに重なる場所があります。これらの数を足し合わせないでください。",
    "largest": "{who}数の最も多い区画",
    "largest_help": "雑音を含む多くの数のうち最大のものは、雑音に押し上げられていることが多く、真"
    "の数より大きめになります。引用するときは必ず区間を添えてください。",
    "copy": "コピー",
    "specialists": "ここから先は専門家向けで、専門の言葉を使います。",
}

SCRIPT: Mapping[str, str] = {
    "level_cells": "区画",
    "level_blocks": "{side} × {side} の区画",
    "level_km": "（一辺およそ {km} km）",
    "all_labels": "すべて",
    "origins": "出発地",
    "destinations": "到着地",
    "belief_none": "なし: 公開されたまま",
    "belief_some": "数が誤差の幅の {times} 倍以上",
    "drawn_level": "表示: {name}。",
    "km": "{km} km",
    "interval": "{low} ～ {high}",
    "few": "{below}未満",
    "few_drawn": "数 {few}、{of}",
    "at_map": "x {x}、y {y}",
    "at_degrees": "{north} {lat}°、{east} {lon}°",
    "north": "北緯",
    "south": "南緯",
    "east": "東経",
    "west": "西経",
    "outside_map": "地図の外",
    "outside_domain": "この公開物の対象外",
    "unknown": "不明",
    "untold": "少ないかいない（雑音のため分かりません）",
    "water": "水域",
    "per_km2": "{density}／km²、{of}",
    "per_cell": "{density}／区画、{of}",
    "term_position": "場所",
    "term_unit": "地域コード",
    "term_count": "区画の公開値",
    "term_ends": "95%の確かさでの範囲",
    "term_drawn": "地図の色",
    "draw_begin": "地域を描く",
    "draw_finish": "地域を閉じる",
    "draw_help": "地図で頂点をクリックするか、矢印キーで十字を動かして Space を押してください。"
    "Enter で閉じ、Escape でやめます。",
    "corners": "頂点 {n} 個",
    "few_corners": "地域には三つ以上の頂点が要ります。",
    "drawn_name": "地域 {n}",
    "no_polygons": "地域として読めません。一行に一つの頂点を二つの数で書くか、多角形の GeoJSON を"
    "入れてください。",
    "estimated": "{n} 件を合計しました。下の一覧をご覧ください。",
    "no_cells_inside": "{place}: この公開物の区画の中心が中にありません。",
    "too_many_cells": "{place}: このページには区画が多すぎます。geodp estimate を使ってください。",
    "place_square": "区画 {code}（{where}付近）",
    "place_cells": "{row} 行 {col} 列の区画",
    "place_region": "{level} {name}",
    "place_whole": "全域",
    "place_origin": "出発地としての{place}",
    "place_destination": "到着地としての{place}",
    "quote": "{where}{who}数は約 {count} です（95%の確かさで {low} から {high} の間、誤差は "
    "{percent}% 以内）。",
    "quote_few": "{where}{who}数は多くても {high} です（95%の確かさ）。いくつかは、この公開物から"
    "は分かりません。",
    "quote_exact": "{where}{who}数は {count} です。この合計は公開されていて、雑音はありません。",
    "quote_below": "{where}{who}数は少なく、公表者の表示の規則により「{below}未満」と示します。",
    "places_found": "{n} か所のうち {shown} か所を表示しています。",
    "places_none": "その名前の場所は一覧にありません。どの地域の合計も下の項で求められます。",
    "copy": "コピー",
    "copy_of": "コピー: {place}の文",
    "show": "地図で見る",
    "show_of": "地図で見る: {place}",
    "copied": "コピーしました: {text}",
    "copy_by_hand": "文を選択しました。Ctrl+C でコピーしてください。",
    "mean_own": "区画そのものの値",
    "mean_larger": "それを含むより大きい区画の平均、{name}",
    "term_why": "注",
    "why_nobody": "ここに{who}がいる（ある）かどうかは、この公開物からは分かりません。",
    "why_up": "周りに人が少ない区画は少なめに出るため、区間は上に長くなっています。",
    "why_down": "この数の一部は周りの区画のものかもしれないため、区間は下に長くなっています。",
    "swapped": "この地域は地図の外にありますが、各頂点の二つの数を入れ替えると地図に入ります。経度"
    "（東経）、緯度（北緯）の順に書いてください。",
    "off_map": "この地域は地図の外にあります。",
    "estimate_facts": "合計した区画 {cells}、典型的な誤差 {error}、95%の確かさで {low} から {high}"
    "。",
    "place_here": "{where}付近の区画（一辺およそ {km} km）",
    "place_unit": "地域 {name}",
    "where_in": "{place}の",
    "where_part": "{place}のうちこの地図にある部分の",
    "where_near": "{place}の中心から {km} km 以内の",
    "where_near_part": "{place}の中心から {km} km 以内の、この地図にある部分の",
    "area_in": "{place}",
    "area_part": "{place}のうちこの地図にある部分",
    "area_near": "{place}の中心から {km} km 以内",
    "area_near_part": "{place}の中心から {km} km 以内の、この地図にある部分",
    "quote_unsure": "{where}{who}数は約 {count} ですが、とても不確かです（95%の確かさで {low} から"
    " {high} の間）。",
    "pin_few": "この区画は引用しないでください。{who}がいる（ある）かどうか分かりません（95%の確か"
    "さで多くても {high}）。",
    "pin_unsure": "この区画は引用しないでください。約 {count} という数はとても不確かです（95%の確"
    "かさで {low} から {high} の間）。",
    "compare": "比べる",
    "compare_of": "比べる: {place}",
    "compare_one": "二つ目の場所で「比べる」を選んでください。",
    "compare_more": "{who}数は、{more}（{more_low} から {more_high}）のほうが{less}（{less_low} か"
    "ら {less_high}）より多いといえます。95%の確かさの二つの区間が重ならないためです。",
    "compare_same": "{who}数が{more}（{more_low} から {more_high}）と{less}（{less_low} から "
    "{less_high}）のどちらで多いかは、この公開物からは分かりません。95%の確かさの二つの区間が重な"
    "り、違いは偶然かもしれないためです。",
    "places_similar": "この名前と同じ場所はありません。名前にこれを含む場所が {n} か所あります。",
    "remove": "消す",
    "remove_of": "消す: {place}",
}

_TABLES = {
    ",": "",
    " with the cells' outlines,": "セルの輪郭つきの",
    " with outlines of the cells, for GIS;": "GIS 用の、セルの輪郭つきの",
}

PAGE_OF_UNITS: Mapping[str, str] = {
    "intro": "このページの数は正確な数ではありません。{unit}について多くのことが突き止められないよ"
    "うに、誰かが見る前に、わざと偶然の数（雑音）を加えてあります。{amount}多くの地域の合計は確か"
    "ですが、人の少ない地域は確かでないことがよくあります。地図はまず、信じてよいものだけを示しま"
    "す。",
    "belief_help": "誤差の幅は、雑音によって数がどれほどずれうるかを示します。20の数のうち19は、ず"
    "れがそれより小さくなります。数が誤差の幅のこの倍数以上ある地域に色を付けます。0 ではすべての"
    "地域を公開されたまま示します。",
    "belief_unknown": "この公開物の誤差は人々のデータそのものに依存するため、何を信じてよいかをこ"
    "のページでは判断できず、すべての地域を示します。",
    "legend_pale": "各地域の数をその面積で割った値。",
    "areas_help": "地図に地域を描くか、頂点を入力するか、GeoJSON ファイルを読み込んでください。内"
    "点が中にあるすべての地域の公開値を足し、合計がどれほどずれうるかを示します。線が地域を横切る"
    "ときも、地域は丸ごと合計します（geodp estimate はそのような線を受け付けません）。データはブラ"
    "ウザーの外に出ません。",
    "column_cells": "地域",
    "intro_amount": "一つの地域は普通 {error} ほどずれています。",
    "level": "表示",
    "largest": "{who}数の最も多い地域",
    "error_why": "加える雑音は、人の多い場所でも少ない場所でも同じです。広い地域ほど人は多く、誤差"
    "はそれほど増えません。そのため誤差の割合は小さくなります。一つの地域は普通 {first} ほど、"
    "{cells:,} 地域の合計は {last} ほどずれます。その {more} 倍にすぎません。",
    "axis_cells": "足し合わせる地域の数",
}
SCRIPT_OF_UNITS: Mapping[str, str] = {
    "level_cells": "地域",
    "level_km": "",
    "belief_none": "なし: 公開されたまま",
    "term_count": "地域の公開値",
    "outside_map": "どの地域でもない",
    "no_cells_inside": "{place}: 内点が中にある地域はありません。",
    "mean_own": "地域そのものの値",
    "term_unit": "地域コード",
    "estimate_facts": "合計した地域 {cells}、典型的な誤差 {error}、95%の確かさで {low} から {high}"
    "。",
    "pin_few": "この地域は引用しないでください。{who}がいる（ある）かどうか分かりません（95%の確か"
    "さで多くても {high}）。",
    "pin_unsure": "この地域は引用しないでください。約 {count} という数はとても不確かです（95%の確"
    "かさで {low} から {high} の間）。",
}
"""セルではなく地域の輪郭の地図があるときに別に言うこと。"""

CARD: Mapping[str, str] = {
    "Closed form for an aligned block of cells where nothing is clamped; independent of the data; "
    "margin_95 = 1.96 standard errors; largest: of any such block, at the edges of the domain "
    "too, with a mask a bound.": "0 への切り上げがなかった区画のまとまりの典型的な誤差（標準誤差）を、"
    "データを使わずに式で求めたものです。95%誤差幅はその 1.96 倍です。最後の列は、地図の端も含め、"
    "その大きさのまとまりすべての中での最大です（対象外の区画があるときは、その上限）。",
    "Closed form for an aligned block of cells wherever it lies; independent of the data; "
    "margin_95 = 1.96 standard errors; largest: of any such block, at the edges of the domain "
    "too, with a mask a bound.": "区画のまとまりの典型的な誤差（標準誤差）を、データを使わずに式で"
    "求めたもので、場所によりません。95%誤差幅はその 1.96 倍です。最後の列は、地図の端も含め、"
    "その大きさのまとまりすべての中での最大です（対象外の区画があるときは、その上限）。",
    "256 bits from the operating system, forgotten after the run": "OS からの 256 ビットの乱数で、"
    "処理の後に捨てました",
    "derived from a 256-bit key kept by its owner and a digest of the input": "所有者が保管する "
    "256 ビットの鍵と入力のダイジェストから導きました",
    "fixed by the calling program: NOT PRIVATE": "呼び出したプログラムが固定: 保護なし",
    "the domain, the grid and every value of this card: public by construction": "対象地域、格子、"
    "カードのすべての値: 作り方により公開です",
    "other releases about the same people: their budgets add to this one": "同じ人々に"
    "ついてのほかの公開物: その予算がこの予算に加わります",
    "groups: k people together are protected with k times epsilon": "集団: k 人をまとめると、"
    "イプシロンの k 倍で保護されます",
    "groups: k people together are protected with k squared times rho": "集団: k 人をまとめると、"
    "ρ の k の二乗倍で保護されます",
    "whether two releases with the same kept key and parameters come from exactly the same input: "
    "they are then identical, so use a new key for every new state of the data": "保管した同じ鍵と"
    "同じ設定による二つの公開物が、まったく同じ入力によるものか: その場合は同一になるので、"
    "データが変わるたびに新しい鍵を使います",
    "that at least one row of every file that was read, or of the table in memory, meets the "
    "selection and lies in the domain: an input without one is refused before anything is "
    "charged": "読んだどのファイルも（またはメモリー上の表も）、条件に合い対象地域にある行を"
    "少なくとも一行もつこと: 一行もないものがある入力は、予算を使う前に拒みます",
    "that at least one row of every file of the series, and of every value of a selection that "
    "several snapshots share, counts in a snapshot, and that not all snapshots are empty: such a "
    "series is refused before anything is charged; a single snapshot may be empty": "系列のどの"
    "ファイルも、複数の時点に共通の条件のどの値も、いずれかの時点で数えられる行を少なくとも一行もつこと、"
    "またすべての時点が空ではないこと: そうでない系列は、予算を使う前に拒みます。個々の時点は空でも"
    "かまいません",
    **{
        f"the counts{how} one row for every cell {which}; cells of the domain that are not listed "
        f"are 0": f"{said}数。{listed}につき一行。対象のセルで載っていないものは 0"
        for how, said in _TABLES.items()
        for which, listed in (("above 0", "0 より大きいセル"), ("that is not 0", "0 でないセル"))
    },
    "types of the CSV's columns, for GDAL and QGIS": "CSV の列の型（GDAL と QGIS 用）",
    "the counts as a map, north up; cells of the domain that the tables do not list are 0": "北を"
    "上にした地図としての数。対象のセルで表に載っていないものは 0",
    "QGIS style of the raster and of the outlines: fixed classes": (
        "ラスターと輪郭の QGIS スタイル（固定の階級）"
    ),
    "the map as a picture, colours on a fixed scale": "地図の画像（固定の配色）",
    "whole numbers, none negative": "整数、負の値なし",
    "whole numbers, negative ones among them": "整数、負の値もあり",
    "real numbers, none negative": "実数、負の値なし",
    "real numbers, negative ones among them": "実数、負の値もあり",
    "Non-negativity: children below 0 become 0 and their siblings pay for it, with two passes the "
    "populous ones less. It is biased: a lone occupied cell in an empty region is pulled down, and "
    "what it loses goes to the empty cells around it.": "非負化: 0 を下回る下位の区画は 0 とし、"
    "その分を同じ親の区画から引きます（二段階の場合、人の多い区画からは少なく引きます）。偏りが"
    "あります。空の地域に孤立したセルは少なく出て、その分は周りの空のセルに移ります。",
    "Non-negativity: a total below 0 becomes 0, and every detail is clamped to what its node "
    "holds. The clamp is biased: a lone occupied cell in an empty region is pulled down by about 2 "
    "to 3 noise scales, and what it loses goes to the empty cells around it (isolated-cell "
    "shrinkage).": "非負化: 0 を下回る合計は 0 とし、差はその区画の数までに収めます。偏りが"
    "あります。空の地域に孤立したセルは雑音の尺度の 2 から 3 倍ほど少なく出て、その分は周りの"
    "空のセルに移ります。",
    "None: negative counts stay as they are, every value is unbiased, and a sum over many cells "
    "has the noise of all of them.": "なし: 負の数もそのままで、どの値にも偏りがなく、多くのセルの"
    "合計にはそのすべての雑音が入ります。",
    "Additivity: every area's count is exactly the sum of its cells.": "加法性: どの地域の数も、"
    "そのセルの合計と正確に一致します。",
    "Whole numbers: shares are rounded systematically with one random number of their node; "
    "unbiased.": "整数化: 配分は区画ごとの一つの乱数で系統的に丸めます。偏りはありません。",
    "Whole numbers: an odd sum is split by a random bit of its node; unbiased.": "整数化: 奇数の"
    "合計は区画ごとの乱数の一ビットで分けます。偏りはありません。",
}
"""Sentences of cards of the usual methods; another one stays English, and is marked so."""
