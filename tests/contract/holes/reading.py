"""Holes of what reads confidential files: see :mod:`tests.contract.holes`."""

NO_RECORDS_OF_PERSONS = {"census": "a publisher's table counts persons, and has no records of them"}
NO_WEIGHTS = dict.fromkeys(
    (
        *("counts", "counts by label", "series", "households of persons", "households by size"),
        "selection",
    ),
    "it takes no --weight of records, as flows and amounts do",
)
NO_QUERY = {"counts by label": "geodp sql has no --by, as geodp flows sql has"}
NO_PRIOR = dict.fromkeys(
    ("series", "households of persons", "households by size", "census"),
    "it takes no --prior, as counts, flows and amounts do",
)
NO_FRONT_DOOR = "geodp.local takes no frame of a file that publishes"

HOLES: dict[str, dict[str, str]] = {
    "a_placeholder_is_refused_in_python": {"local round": NO_FRONT_DOOR},
    "a_frame_gives_the_bytes_of_its_file": {"local round": NO_FRONT_DOOR},
    "names_of_regions_stay_texts": {
        "flows": "flows publish refuses --regions, and names grids of one map of cells and units",
    },
    "a_query_counts_what_the_reader_counts": NO_QUERY,
    "a_query_quotes_every_name": NO_QUERY,
    "records_may_have_weights": NO_WEIGHTS,
    "what_is_no_weight_is_refused": NO_WEIGHTS,
    "a_weight_is_named_as_missing_in_one_way": NO_WEIGHTS,
    "a_multiple_in_the_title_of_weights_is_asked_about": NO_WEIGHTS,
    "an_error_quotes_no_value_in_python": {"local round": NO_FRONT_DOOR},
    "a_prior_is_used_where_the_operator_vouches_for_it": NO_PRIOR,
    "records_are_no_prior": NO_PRIOR,
    "a_prior_of_another_grid_is_refused": NO_PRIOR,
    "a_card_names_the_source_of_a_prior_and_nothing_of_its_content": NO_PRIOR,
}
"""What a kind should do and does not do yet, as what is seen: strict expected failures."""

NO_ESTIMATES = {
    "selection": "it releases no counts that a prior could improve",
    "local round": "its counts follow from the reports of devices alone",
}
NO_PERSONS = {"local round": "a device sends no id"} | NO_RECORDS_OF_PERSONS
RECORDS = {
    **dict.fromkeys(("flows", "amounts", "series of amounts"), "its rows are records"),
    "local round": "its rows are devices",
}
NO_NUMBERS = dict.fromkeys(("flows", "local round"), "its rows are records without a number")
AMOUNTS_ARE_ALL = dict.fromkeys(("amounts", "series of amounts"), "an amount may be any number")
NO_LABELS = dict.fromkeys(
    (
        *("counts", "series", "households of persons", "flows", "amounts", "series of amounts"),
        *("selection", "local round", "census"),
    ),
    "its files have no labels",
)

NO_RECORDS = {
    "local round": "a device sends a report, and no record is in a database"
} | NO_RECORDS_OF_PERSONS

NOT_ASKED: dict[str, dict[str, str]] = {
    "a_kept_key_replays": {"local round": "its noise is drawn by devices"},
    "a_release_is_charged_once": {"local round": "the round is charged when it is opened"},
    "an_output_is_replaced_on_request_alone": {"local round": "the round is charged"},
    "a_placeholder_is_no_number": NO_NUMBERS,
    "a_placeholder_is_no_label": NO_LABELS,
    "a_placeholder_is_no_person": NO_PERSONS,
    "a_placeholder_is_no_coordinate": NO_PERSONS,
    "a_placeholder_is_named_as_missing_in_one_way": NO_NUMBERS,
    "a_total_is_no_label": NO_LABELS,
    "a_total_is_no_person": NO_PERSONS,
    "a_sentinel_is_no_number": NO_NUMBERS,
    "a_number_beyond_mankind_is_no_count": NO_NUMBERS | AMOUNTS_ARE_ALL,
    "a_number_that_is_not_plain_is_asked_about": NO_NUMBERS,
    "a_fraction_of_a_person_is_refused": NO_NUMBERS | AMOUNTS_ARE_ALL,
    "blanks_signs_and_zeros_change_no_number": NO_NUMBERS,
    "an_exponent_is_read": NO_NUMBERS,
    "full_width_digits_are_read": NO_NUMBERS,
    "a_decimal_comma_is_named_in_one_way": NO_NUMBERS,
    "a_place_outside_is_refused_on_request": {"local round": "it is always refused"},
    "places_outside_the_bounds_are_left_out_unless_it_is_said": {
        "local round": "a device outside must send nothing, as a report would tell that it was"
    },
    "a_row_that_is_repeated_is_an_error": RECORDS,
    "a_multiple_in_a_title_is_asked_about": NO_NUMBERS,
    "a_percentage_in_a_title_is_asked_about": NO_NUMBERS,
    "a_density_in_a_title_is_asked_about": NO_NUMBERS | AMOUNTS_ARE_ALL,
    "names_of_regions_stay_texts": {
        **dict.fromkeys(
            (
                *("series", "households of persons", "households by size"),
                *("amounts", "series of amounts", "census"),
            ),
            "publishing on regions takes it 5 to 50 s, also of this small map",
        ),
        "selection": "it has no table, and its areas are codes",
        "local round": "its domain is that of the plan",
    },
    "a_query_counts_what_the_reader_counts": NO_RECORDS,
    "a_query_quotes_every_name": NO_RECORDS,
    "records_may_have_weights": NO_RECORDS,
    "what_is_no_weight_is_refused": NO_RECORDS,
    "a_weight_is_named_as_missing_in_one_way": NO_RECORDS,
    "a_multiple_in_the_title_of_weights_is_asked_about": NO_RECORDS,
    "inspect_proposes_the_command_of_the_kind": {
        **dict.fromkeys(("series", "series of amounts"), "one file is one time, and no series"),
        "selection": "its files are those of counts",
        "local round": "its files are those of counts",
        "census": "which columns divide which only layouts of publishers tell",
    },
    "a_person_is_not_quoted": NO_PERSONS | {"own kind": "its files have no persons"},
    "a_prior_is_used_where_the_operator_vouches_for_it": NO_ESTIMATES,
    "records_are_no_prior": NO_ESTIMATES,
    "a_prior_of_another_grid_is_refused": NO_ESTIMATES,
    "a_card_names_the_source_of_a_prior_and_nothing_of_its_content": NO_ESTIMATES,
    "a_column_may_have_any_name": {
        "census": "names of its columns are public, where none may begin a formula",
    },
    "hostile_labels_stay_texts": NO_LABELS | {"households by size": "its labels are numbers"},
}
"""What a kind is not asked for, and why it would make no sense there: not run."""
