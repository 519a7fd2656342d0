"""Holes of what publishes: see :mod:`tests.contract.holes`."""

HOLES: dict[str, dict[str, str]] = {}
"""What a kind should do and does not do yet, as what is seen: strict expected failures."""

NOT_ASKED: dict[str, dict[str, str]] = {
    "the_operator_s_record_says_what_was_read": {
        "local round": "it reads sums of reports, and no confidential file",
    },
    "the_operator_s_record_says_how_many_were_counted": {
        "local round": "it reads sums of reports, and no confidential file",
    },
    "a_release_is_charged_once": {
        "local round": "the round is charged when it is opened",
    },
    "a_replay_is_charged_once": {
        "local round": "the round is charged when it is opened",
    },
    "a_mask_of_land_is_stated": {
        "local round": "the grid is that of the round",
    },
    "a_second_release_adds": {
        "local round": "the round is charged when it is opened",
    },
    "a_cap_that_does_not_suffice_refuses": {
        "local round": "the round is charged when it is opened",
    },
    "a_ledger_without_a_data_set_is_refused": {
        "local round": "the round is charged when it is opened",
    },
    "another_unit_than_the_ledger_s_is_refused": {
        "local round": "the round is charged when it is opened",
    },
    "a_release_is_charged_once_in_python": {
        "local round": "it publishes sums of reports, and no frame of records",
    },
    "a_cap_that_does_not_suffice_refuses_in_python": {
        "local round": "it publishes sums of reports, and no frame of records",
    },
    "records_need_a_ledger_in_python": {
        "local round": "it publishes sums of reports, and no frame of records",
    },
    "a_check_writes_what_would_be_counted": {
        "local round": "nothing is drawn from confidential counts",
    },
    "a_check_says_nothing_of_the_data": {
        "local round": "nothing is drawn from confidential counts",
    },
    "a_check_is_replaced_by_the_release": {
        "local round": "nothing is drawn from confidential counts",
    },
    "a_check_replaces_no_release": {
        "local round": "nothing is drawn from confidential counts",
    },
    "a_check_refuses_the_rows_that_publishing_refuses": {
        "local round": "nothing is drawn from confidential counts",
    },
    "a_check_refuses_what_publishing_refuses": {
        "local round": "nothing is drawn from confidential counts",
    },
    "the_restricted_folder_is_its_owner_s_alone_in_python": {
        "local round": "it publishes sums of reports, and no frame of records",
    },
    "a_recipe_makes_the_release_again": {
        "local round": "its options stand in the plan",
    },
    "what_fails_before_the_charge_leaves_nothing": {
        "local round": "the round is charged when it is opened",
    },
    "the_same_command_alone_resumes_a_run": {
        "local round": "the round is charged when it is opened",
    },
    "a_public_file_that_changed_refuses_to_resume": {
        "local round": "the round is charged when it is opened",
    },
    "an_empty_input_is_refused": {
        "local round": "its input is no table",
    },
    "an_empty_input_is_refused_in_python": {
        "local round": "it publishes sums of reports, and no frame of records",
    },
    "an_empty_input_is_published_on_request": {
        "local round": "its input is no table",
    },
    "a_wrong_value_is_refused_in_python": {
        "local round": "it publishes sums of reports, and no frame of records",
    },
    "a_kept_key_draws_other_inputs_anew": {
        "local round": "its noise is drawn by devices",
    },
    "frames_replay_what_files_published": {
        "local round": "it publishes sums of reports, and no frame of records",
    },
    "a_release_in_python_does_not_replace_one": {
        "local round": "it publishes sums of reports, and no frame of records",
    },
    "a_padded_run_shows_neither_its_steps_nor_its_time": {
        "local round": "nothing is drawn from confidential counts",
    },
    "a_refused_run_is_padded": {
        "local round": "nothing is drawn from confidential counts",
    },
    "the_screen_does_not_depend_on_the_data": {
        "selection": "it shows the answer, which is released",
    },
    "json_says_nothing_of_the_data": {
        "selection": "it has the answer, which is released",
        "local round": "how many devices reported is public",
    },
    "the_card_states_the_variant_of_privacy": {
        "selection": "a choice has no Gaussian noise",
        "local round": "its budget stands in the plan",
    },
    "the_script_finds_what_follows_by_arithmetic_and_fixed_sentences": {
        "selection": "it has no table, whose errors are stated",
        "local round": "its promise has neither neighbours nor a contribution",
    },
    "metadata_are_read_in_python": {
        "local round": "it publishes sums of reports, and no frame of records",
    },
}
"""What a kind is not asked for, and why it would make no sense there: not run."""
