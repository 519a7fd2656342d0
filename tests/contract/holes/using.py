"""Holes of what uses a release: see :mod:`tests.contract.holes`."""

from tests.contract.holes.every import EVERY

OF_SEVERAL = (
    *("series", "households of persons", "households by size", "flows", "amounts"),
    "series of amounts",
)
"""Kinds that have folders of tables or periods inside."""

TABLES = ("counts", "counts by label", "series", "local round")
"""Kinds whose commands are those of tables of counts."""


def refused(command: str, *kinds: str) -> dict[str, str]:
    """Return the rows of kinds whose folder a command refuses, and points to folders inside."""
    reason = f"geodp {command} refuses it and points to its folders inside, none of which it names"
    return dict.fromkeys(kinds, reason)


NO_COUNTS = "it names places and has no counts"
NO_LIMIT = {"local round": "geodp local publish has no --display-below"}

OF_COUNTS = (
    "estimate_answers_the_folder_that_was_published",
    "a_series_is_estimated_at_all_its_times",
    "an_interval_holds_its_estimate",
    "estimates_are_named_alike",
    "regions_may_be_polygons",
    "a_region_that_is_named_twice_is_answered_once",
    "what_cannot_be_estimated_is_refused",
    "compare_answers_the_folder_that_was_published",
    "two_releases_of_a_kind_are_compared",
    "differences_are_named_alike",
    "a_difference_is_the_second_less_the_first",
    "overlapping_regions_are_not_compared",
    "what_cannot_be_compared_is_refused",
    "diff_shows_what_changed",
    "diff_shows_the_cells_that_changed_most",
    "diff_refuses_one_release_twice_and_another_grid",
    "a_limit_of_display_changes_no_count",
    "estimates_below_the_limit_are_not_printed",
    "differences_below_the_limit_are_not_printed",
    "changes_below_the_limit_are_not_printed",
    "documents_mark_what_is_below_the_limit",
    "pages_hide_counts_below_the_limit",
    "reports_state_the_limit",
    "statistics_are_computed",
    "errors_are_predicted_before_data_are_read",
    "a_release_that_is_opened_answers_regions",
)
"""Checks of numbers of a release."""

HOLES: dict[str, dict[str, str]] = {
    "diff_shows_the_cells_that_changed_most": {
        "counts by label": "geodp diff asks for regions, as labels of a cell share errors",
    },
    "a_limit_of_display_changes_no_count": NO_LIMIT,
    "estimates_below_the_limit_are_not_printed": NO_LIMIT,
    "differences_below_the_limit_are_not_printed": NO_LIMIT,
    "changes_below_the_limit_are_not_printed": NO_LIMIT,
    "documents_mark_what_is_below_the_limit": NO_LIMIT,
    "pages_hide_counts_below_the_limit": NO_LIMIT,
    "reports_state_the_limit": NO_LIMIT,
    "pages_show_the_withdrawal": {"selection": "geodp report refuses a selection"},
    "maps_show_the_withdrawal": {
        "own kind": "geodp map refuses it, and draws one of its maps",
        **refused("map", *(kind for kind in OF_SEVERAL if kind != "amounts")),
        "selection": "geodp map refuses a selection",
    },
    "pages_are_whole_and_in_their_language": {"selection": "geodp report refuses a selection"},
    "report_describes_a_release_as_text": {
        "series": "geodp report refuses it and points to its snapshots, none of which it names",
        **dict.fromkeys(OF_SEVERAL[1:], "its own report writes an HTML page and no text"),
        "selection": "geodp report refuses a selection",
    },
    "map_draws_the_release": {
        **refused("map", *(kind for kind in OF_SEVERAL if kind != "amounts")),
        "selection": "geodp map refuses a selection",
    },
    "export_writes_the_release_in_other_formats": {
        **refused("export", *(kind for kind in OF_SEVERAL if kind != "amounts")),
        "selection": "geodp export refuses a selection",
    },
    "statistics_are_computed": {
        "counts by label": "geodp statistics refuses a map with attributes",
        **refused("statistics", *OF_SEVERAL),
        "local round": "geodp statistics refuses it, as reports of devices are not simulated",
    },
    "a_plan_is_printed_for_people": {
        "series of amounts": "geodp amounts plan has no --snapshots, as geodp plan has",
        "selection": "there is no geodp select plan",
    },
    "errors_are_predicted_before_data_are_read": {
        "amounts": "geodp amounts plan compares clips, and predicts no error of an area",
        "series of amounts": "geodp amounts plan has no --snapshots, as geodp plan has",
    },
    "a_release_that_is_opened_has_its_card": {
        "selection": "geodp.open returns its card, which has no card()",
    },
    "a_release_that_is_opened_becomes_a_frame": {
        "own kind": "Maps has no to_pandas and no to_geopandas",
        "series": "ReleasedPeriods has no to_pandas and no to_geopandas",
        "households of persons": "Households has no to_pandas and no to_geopandas",
        "households by size": "Households has no to_pandas and no to_geopandas",
        "amounts": "Amounts has no to_geopandas",
        "series of amounts": "AmountsSeries has no to_pandas and no to_geopandas",
        "selection": "SelectionCard has no to_pandas and no to_geopandas",
    },
    "a_release_that_is_opened_is_not_written_again": {
        "selection": "geodp.open returns its card, which has no write()",
    },
    "inspect_says_what_a_release_is": {
        EVERY: "geodp inspect says that it is a release of geodp, and not of what",
    },
    "commands_that_inspect_names_work": dict.fromkeys(
        (*OF_SEVERAL, "selection", "own kind"),
        "geodp inspect names geodp report, which refuses it",
    ),
    "a_release_is_no_input": {
        "local round": "geodp local publish says that it cannot read a directory",
    },
    "every_command_that_uses_a_release_has_json": {
        **dict.fromkeys(TABLES, "geodp report has --format json in the place of --json"),
        **dict.fromkeys(OF_SEVERAL[1:], "its report has no --json"),
    },
}
"""What a kind should do and does not do yet, as what is seen: strict expected failures."""

NOT_ASKED: dict[str, dict[str, str]] = {
    "pages_show_the_withdrawal": {"own kind": "it has no page"},
    "a_kept_key_replays": {"local round": "its noise is drawn by devices"},
    "a_release_is_charged_once": {"local round": "the round is charged when it is opened"},
    "an_output_is_replaced_on_request_alone": {"local round": "the round is charged"},
    **{check: {"selection": NO_COUNTS} for check in OF_COUNTS},
    "pages_hide_counts_below_the_limit": {"selection": NO_COUNTS, "own kind": "it has no page"},
    "overlapping_regions_are_not_compared": {
        "selection": NO_COUNTS,
        **dict.fromkeys(
            TABLES, "geodp compare leaves the common cells out of both, with the error of the rest"
        ),
    },
}
"""What a kind is not asked for, and why it would make no sense there: not run."""
