"""Holes of what uses a release: see :mod:`tests.contract.holes`."""

OF_SEVERAL = (
    *("households of persons", "households by size", "flows", "amounts", "series of amounts"),
    *("own kind", "census"),
)
"""Kinds whose tables share measurements."""

TABLES = ("counts", "counts by label", "series", "local round")
"""Kinds whose commands are those of tables of counts."""


NO_COUNTS = "it names places and has no counts"

OF_COUNTS = (
    "estimate_answers_the_folder_that_was_published",
    "a_series_is_estimated_at_all_its_times",
    "changes_of_a_series_are_estimated_beside_its_levels",
    "an_interval_holds_its_estimate",
    "worst_case_intervals_are_about_the_same_numbers",
    "estimates_are_named_alike",
    "regions_may_be_polygons",
    "regions_may_be_boxes",
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
    "estimates_below_the_limit_are_not_printed",
    "differences_below_the_limit_are_not_printed",
    "changes_below_the_limit_are_not_printed",
    "documents_mark_what_is_below_the_limit",
    "pages_hide_counts_below_the_limit",
    "reports_state_the_limit",
    "errors_are_predicted_before_data_are_read",
    "a_release_that_is_opened_answers_regions",
)
"""Checks of numbers of a release."""

HOLES: dict[str, dict[str, str]] = {}
"""What a kind should do and does not do yet, as what is seen: strict expected failures."""

NOT_ASKED: dict[str, dict[str, str]] = {
    "a_limit_of_display_changes_no_count": {
        "local round": "its noise is drawn by devices",
        "selection": NO_COUNTS,
    },
    "a_kept_key_replays": {"local round": "its noise is drawn by devices"},
    "a_release_is_charged_once": {"local round": "the round is charged when it is opened"},
    "an_output_is_replaced_on_request_alone": {"local round": "the round is charged"},
    **{check: {"selection": NO_COUNTS} for check in OF_COUNTS},
    **{
        check: {"selection": NO_COUNTS}
        for check in (
            *("maps_show_the_withdrawal", "map_draws_the_release", "a_small_map_is_embedded"),
            "export_writes_the_release_in_other_formats",
        )
    },
    "statistics_are_computed": {
        "selection": NO_COUNTS,
        "local round": "reports of devices are not simulated",
        **dict.fromkeys(
            (*OF_SEVERAL, "counts by label"),
            "its maps share measurements, and none is simulated by itself",
        ),
    },
    "overlapping_regions_are_not_compared": {
        "selection": NO_COUNTS,
        **dict.fromkeys(
            TABLES, "geodp compare leaves the common cells out of both, with the error of the rest"
        ),
    },
}
"""What a kind is not asked for, and why it would make no sense there: not run."""
