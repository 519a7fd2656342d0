"""What is mutated, and the quick tests that must notice: one row for each module."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

LEDGER = (
    "tests/privacy/test_ledger_attacks.py",
    "tests/privacy/test_ledger_changes.py",
    "tests/privacy/test_ledger_file.py",
    "tests/privacy/test_ledger.py",
    "tests/privacy/test_index.py",
    "tests/privacy/test_locked_file.py",
    "tests/privacy/test_slots.py",
    "tests/privacy/test_witness.py",
    "-k",
    "not flipped and not logarithm",
)

SAMPLED = (
    "tests/privacy/test_samples.py",
    *LEDGER[:-1],
    f"{LEDGER[-1]} and not releases_declare",
)

AUDIT = "auditor or test_index"

CRASHES = (
    "test_a_ledger_that_others_hold_for_too_long_is_busy",
    "test_who_may_only_read_can_look_but_not_charge",
    "test_a_full_disk_gives_a_clear_error_and_keeps_the_ledger_whole",
    "test_a_charge_that_fails_says_whether_it_is_in_the_ledger",
    "test_a_charge_whose_process_ends_counts_as_soon_as_it_is_whole",
    "test_a_replay_of_what_a_killed_writer_left_is_flushed_before_it_is_told",
    "test_the_name_of_a_new_ledger_is_flushed_and_later_charges_leave_the_folder_alone",
    "test_a_long_entry_is_read_in_one_pass",
    "test_a_charge_that_can_neither_be_written_nor_withdrawn_is_told",
    "test_what_a_kill_left_of_a_new_ledger_is_made_anew",
    "test_eight_threads_may_share_a_ledger",
)


SELECT = (
    "tests/kinds/selection/test_changes.py",
    "tests/kinds/selection/test_select.py",
    *(
        f"tests/laws/test_sensitivities.py::{name}"
        for name in (
            "test_no_neighbour_changes_a_utility_by_more_than_a_question_states",
            "test_answers_are_as_likely_as_epsilon_allows",
        )
    ),
)
SERIES = (
    "tests/kinds/series/test_terms.py",
    "tests/kinds/series/test_publish.py",
    "tests/cli/test_resume.py",
    "-k",
    "series",
)
PARTS = (
    "tests/mechanisms/central/test_parts.py",
    "tests/mechanisms/central/test_marginals.py",
    "tests/mechanisms/parts",
    "tests/mechanisms/test_queries.py",
    "tests/mechanisms/test_large_counts.py",
    "-k",
    "parts or marginal",
)
RESUME = ("tests/io/folder/test_pending.py", "tests/cli/test_resume.py")
RESUMED = (*RESUME, "-k", "own_call_alone or would_have")


@dataclass(frozen=True)
class Target:
    """A module, its tests, and perhaps some functions of it that are meant alone.

    ``compiled``: tests may use compiled kernels; not so where a kernel itself is changed, as Numba
    would take the unchanged one from its cache.
    """

    module: str
    tests: tuple[str, ...]
    functions: tuple[str, ...] = ()
    compiled: bool = True

    @property
    def path(self) -> Path:
        """Below the project's folder."""
        named = Path(*self.module.split("."))
        package = named / "__init__.py"
        return package if (ROOT / package).exists() else named.with_suffix(".py")


TARGETS = (
    # What was spent, and on whom.
    Target("geodp.privacy.ledger", LEDGER),
    Target("geodp.privacy.books", LEDGER),
    Target("geodp.privacy.accounts", LEDGER),
    Target(
        "geodp.privacy.accounts",
        SAMPLED,
        ("Account.charge", "Account.columns", "Account.read", "Accounts._follow"),
    ),
    Target(
        "geodp.privacy.samples", ("tests/privacy/test_names.py", "tests/privacy/test_samples.py")
    ),
    Target(
        "geodp.privacy.books",
        ("tests/privacy/test_index.py", "tests/privacy/test_ledger_changes.py", "-k", AUDIT),
    ),
    Target("geodp.privacy.hash_chain", ("tests/privacy/test_slots.py", *LEDGER)),
    Target("geodp.privacy.witness", ("tests/privacy/test_witness.py",)),
    Target("geodp.privacy.locked_file", ("tests/privacy/test_locked_file.py", *LEDGER)),
    Target("geodp.privacy.samples", ("tests/privacy/test_samples.py",)),
    Target(
        "geodp.tools.audit.binomial",
        ("tests/tools/audit/test_threshold.py", "-k", "not plain_search and not without_data"),
    ),
    Target(
        "geodp.privacy.hash_chain",
        (
            *(f"tests/privacy/test_hash_chain.py::{name}" for name in CRASHES),
            *LEDGER,
        ),
    ),
    Target(
        "geodp.local.amplification",
        ("tests/local/test_amplification.py",),
        ("amplify_by_shuffling", "_Cut.of"),
    ),
    Target("geodp.privacy.loss", ("tests/privacy/test_loss.py", "-k", "not agreement")),
    Target(
        "geodp.privacy.terms",
        (
            "tests/privacy/test_terms.py",
            "tests/privacy/test_ledger_attacks.py",
            "-k",
            "unit or relations or sense",
        ),
    ),
    Target(
        "geodp.table.contribution",
        (
            "tests/table/test_contribution.py",
            "tests/table/test_totals.py",
            "tests/privacy/test_assumption.py",
        ),
    ),
    Target(
        "geodp.privacy.assumption",
        ("tests/privacy/test_assumption.py", "tests/release/test_assumptions.py"),
    ),
    Target("geodp.release.card", ("tests/release/test_assumptions.py",), ("list_assumptions",)),
    Target(
        "geodp.release.inputs",
        ("tests/release/test_assumptions.py", "tests/release/test_prior.py"),
        ("choose_prior", "describe_charge"),
    ),
    Target("geodp.io.read.layout.official_tables", ("tests/io/read/layout/test_one_table.py",)),
    # How much noise.
    Target("geodp.privacy.loss", ("tests/privacy/test_event.py",), ("rational", "budget")),
    Target(
        "geodp.privacy.event",
        ("tests/privacy/test_event.py",),
        (
            "Measurement.of",
            "Measurement.loss",
            "Measurement.variant",
            "Measurement.scale",
            "Measurement.sigma2",
            "Measurement.law",
            "Measurement.width",
            "TableEvent.is_private",
            "Composed.__post_init__",
            "Composed.loss",
            "Composed.describe",
        ),
    ),
    Target("geodp.privacy.loss", ("tests/privacy/test_budget.py",)),
    Target(
        "geodp.privacy.terms",
        ("tests/privacy/test_terms.py",),
        ("Terms.__post_init__", "Terms.of", "Terms.arguments", "Terms.bound"),
    ),
    Target("geodp.mechanisms.trees.levels", ("tests/mechanisms/trees/test_levels.py",)),
    Target(
        "geodp.mechanisms.central.pyramid",
        ("tests/mechanisms/trees/test_levels.py", "tests/mechanisms/central/test_pyramid.py"),
        ("Pyramid.levels", "Pyramid.descent"),
    ),
    Target(
        "geodp.mechanisms.trees.descent",
        ("tests/mechanisms/trees/test_levels.py", "tests/mechanisms/central/test_pyramid.py"),
        ("Descent.of",),
    ),
    Target(
        "geodp.mechanisms.central.topdown",
        ("tests/mechanisms/central/test_topdown.py", "-k", "sensitivity or one_cell"),
        ("TopDown.sensitivity",),
    ),
    Target(
        "geodp.mechanisms.baselines.hay",
        (
            "tests/mechanisms/baselines/test_hay.py",
            "-k",
            "changes_one_node or settings or splits_hold",
        ),
        ("Hay.sensitivity", "Hay.height"),
    ),
    Target(
        "geodp.mechanisms.baselines.hb",
        (
            "tests/mechanisms/baselines/test_hay.py",
            "-k",
            "changes_one_node or settings or splits_hold",
        ),
        ("Branching.sensitivity",),
    ),
    Target(
        "geodp.mechanisms.baselines.quadtree",
        ("tests/mechanisms/baselines/test_quadtree.py",),
        ("Quadtree.shares", "Quadtree.plan"),
    ),
    Target(
        "geodp.mechanisms.baselines.ugrid",
        ("tests/mechanisms/baselines/test_ugrid.py",),
        ("UGrid.shares",),
    ),
    Target(
        "geodp.mechanisms.baselines.ugrid",
        ("tests/mechanisms/baselines/test_ugrid.py",),
        ("noisy_total",),
    ),
    Target(
        "geodp.mechanisms.baselines.agrid",
        ("tests/mechanisms/baselines/test_agrid.py",),
        ("AGrid.shares",),
    ),
    Target(
        "geodp.mechanisms.baselines.dawa",
        (
            "tests/mechanisms/baselines/test_dawa.py",
            "-k",
            "reference or shares or budget or refusals or argument or least_squares or costs",
        ),
        (
            "<module>",
            "Dawa.shares",
            "Dawa.level_shares",
            "Dawa.costs",
            "Dawa.release",
            "Dawa.partition",
            "Dawa.measure",
        ),
    ),
    Target(
        "geodp.mechanisms.baselines.mwem",
        ("tests/mechanisms/baselines/test_mwem.py",),
        ("Mwem.shares",),
    ),
    Target(
        "geodp.mechanisms.baselines.barak",
        ("tests/mechanisms/baselines/test_barak.py", "-k", "coefficient"),
        ("Barak.sensitivity", "Barak.coefficients"),
    ),
    Target(
        "geodp.mechanisms.baselines.privelet",
        ("tests/mechanisms/baselines/test_privelet.py",),
        ("Privelet.sensitivity", "PriveletAxes.sensitivity"),
    ),
    Target(
        "geodp.mechanisms.baselines.nominal",
        ("tests/mechanisms/baselines/test_nominal.py", "-k", "losses or cost"),
        ("PriveletNominal.sensitivity", "_Group.scale", "_Tree.depth"),
    ),
    Target(
        "geodp.mechanisms.baselines.matrix",
        ("tests/mechanisms/baselines/test_matrix.py",),
        ("Matrix.sensitivity",),
    ),
    # Which noise: keys, digests and addresses.
    Target("geodp.privacy.key", ("tests/privacy/test_key_file.py",)),
    Target("geodp.privacy.key", ("tests/privacy/test_key.py", "tests/privacy/test_key_file.py")),
    Target(
        "geodp.privacy.noise.node",
        (
            "tests/mechanisms/central/test_pyramid.py::test_draws_that_the_table_leaves_open_are_decided_exactly",
            "tests/mechanisms/central/test_pyramid.py::test_equals_its_definition",
            "tests/privacy/noise/test_noise.py",
            "-k",
            "not interpreted",
        ),
    ),
    # What a device tells.
    Target(
        "geodp.local.coins",
        ("tests/local/test_coins.py",),
        (
            "Chance.of",
            "Chance.digits",
            "Chance.floor",
            "Coins.ahead",
        ),
    ),
    Target(
        "geodp.literature.bit_means",
        ("tests/literature/test_report_bits.py",),
        ("report_bits",),
    ),
    Target(
        "geodp.local.files",
        ("tests/local/test_report_files.py",),
        ("row_of", "_parse_line", "_fields_of", "_require_head", "_require_fields"),
    ),
    Target(
        "geodp.local.opening",
        ("tests/local/test_round.py", "tests/local/test_interrupted.py"),
        ("_write", "_charge"),
    ),
    # Which candidate.
    Target(
        "geodp.privacy.noise.exact_draws",
        ("tests/privacy/noise/test_decay.py",),
        ("Decay.flip", "Decay.count_before", "Decay.interval", "draw_below"),
    ),
    Target(
        "geodp.privacy.selected",
        ("tests/privacy/test_selected.py",),
        ("rate_of", "Selection.of", "Selection.rate"),
    ),
    Target(
        "geodp.kinds.selection.question",
        SELECT,
        (
            *("Top.change", "Top.settings", "Top.measure", "Top.draw"),
            *("Quantile.change", "Quantile.settings", "Quantile.measure", "Quantile.draw"),
            "count_along",
        ),
    ),
    Target(
        "geodp.kinds.selection.selected",
        SELECT,
        ("SelectionDesign.draw", "prepare", "selection_digest"),
    ),
    Target(
        "geodp.kinds.selection.mechanisms.permute_and_flip",
        ("tests/kinds/selection/mechanisms/test_selectors.py", "-k", "twin or unlisted"),
        ("PermuteAndFlip.draw", "_comes_first"),
    ),
    Target(
        "geodp.kinds.selection.mechanisms.base",
        (
            "tests/kinds/selection/mechanisms/test_questions.py",
            "tests/kinds/selection/test_select.py::test_answers_under_a_key_stay_as_they_are",
        ),
    ),
    # How a series shares its budget, and whom it counts how often.
    Target(
        "geodp.kinds.series.publish",
        SERIES,
        ("SeriesDesign.complete", "prepare_series", "draw_smoothed", "design_series"),
    ),
    Target(
        "geodp.release.series",
        (*SERIES, "tests/release/test_series.py"),
        ("PeriodsDesign.event", "design_periods", "state_series", "prepare_periods"),
    ),
    Target(
        "geodp.release.periods",
        SERIES,
        ("name_part", "declare_periods", "identify_periods", "draw_periods"),
    ),
    Target(
        "geodp.release.sharing",
        ("tests/release/test_sharing.py", "tests/kinds/series/test_terms.py"),
        ("share_budget", "divide", "count_levels", "_choose", "_compare_means", "_resolve_terms"),
    ),
    # Parts of a map.
    Target(
        "geodp.mechanisms.central.parts",
        PARTS,
        (
            *("Parts.queries", "Parts.min_share", "Parts.share_of_map", "Parts.event_of_map"),
            *("Parts.count_vectors", "Parts.schedule", "Parts.first", "Parts.release"),
            "Parts.refine_base",
        ),
    ),
    Target(
        "geodp.mechanisms.parts.measuring",
        PARTS,
        ("Step.stream", "Step.rounding", "Step.description", "Schedule.shares", "Schedule.laws"),
    ),
    Target(
        "geodp.mechanisms.parts.chain",
        PARTS,
        ("Group.measure", "Group.draw", "Group.number_vectors", "Group.measure_marginals"),
    ),
    Target("geodp.mechanisms.parts.measuring", PARTS, ("TrueParts.of_group", "TrueParts.tally")),
    Target("geodp.mechanisms.parts.measuring", PARTS, ("Marginal.step",)),
    # What an interrupted run goes on from.
    Target("geodp.cli.running", RESUME, ("<module>", "describe_call")),
    Target("geodp.io.folder.pending", (*RESUME, "tests/io/folder/test_packing.py")),
    Target("geodp.release.transaction", ("tests/release/test_transaction.py",)),
    Target(
        "geodp.cli.publishing",
        RESUMED,
        ("Publishing._write", "Publishing._draw", "Publishing._resume", "store_before_charge"),
    ),
    Target(
        "geodp.io.verify.files",
        ("tests/io/verify/test_files.py",),
        ("check_restricted", "require_unchanged"),
    ),
    Target(
        "geodp.release.noise_identity",
        ("tests/release/test_noise_identity.py", "tests/release/test_publish_with_ledger.py"),
    ),
    Target(
        "geodp.release.publish",
        (
            "tests/release/test_publish.py",
            "tests/release/test_publish_with_ledger.py",
            "-k",
            "not eight",
        ),
        ("make_table_event", "TableDesign.draw"),
    ),
    Target(
        "geodp.release.request",
        ("tests/release/test_publish.py", "tests/release/test_publish_with_ledger.py"),
        ("make_event",),
    ),
    Target(
        "geodp.release.transaction",
        ("tests/release/test_charging.py", "tests/release/test_publish_with_ledger.py"),
        ("release_and_charge", "draw_and_charge", "charge_event", "find_charge"),
    ),
)
