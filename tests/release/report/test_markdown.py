"""The privacy card for people, and the record for the Deployments Registry."""

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

import geodp
from geodp.cli import geodp as command_line
from geodp.errors import InputError, OutputError, UsageError, VerificationError
from geodp.grid.mask import mask_of_blocks
from geodp.io.verify.verify import verify
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.release.report.markdown import markdown
from geodp.release.report.registry import ReleaseMetadata, registry_record
from geodp.release.report.sentences import describe_unit
from geodp.table.card import Card
from tests.refusals import refuses

TEXT = {"type": "string", "minLength": 1}


def closed(optional=(), **properties):
    """An object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def one_of(*values):
    return {"enum": list(values)}


PARAMETER = {"type": "number", "exclusiveMinimum": 0}
SCHEMA = closed(
    url_slug={"type": "string", "pattern": "^[a-z0-9-]+$"},
    status=one_of("Draft"),
    tier=one_of(1, 2, 3),
    deployment=closed(
        basic=closed(
            name=TEXT,
            data_curators={
                "type": "array",
                "minItems": 1,
                "items": closed(data_curator_name=TEXT, data_curator_type=TEXT),
            },
            intended_use=TEXT,
            data_product_type=one_of("Summary statistics"),
            data_product_region=TEXT,
            description=TEXT,
            publication_date={"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
            data_product_sector=TEXT,
        ),
        dp_variant=closed(
            variant_name=one_of(
                "Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"
            ),
            data_domain=TEXT,
            unprotected_quantities=TEXT,
        ),
        privacy_loss=closed(
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            privacy_parameters=closed(
                ("epsilon", "delta", "rho"), epsilon=PARAMETER, delta=PARAMETER, rho=PARAMETER
            ),
            privacy_parameters_details=TEXT,
        ),
        deployment_model=closed(
            ("model_name_details", "data_source_type_details", "release_type_details"),
            model_name=one_of("Local", "Central", "Shuffle", "Federated", "Varies"),
            model_name_details=TEXT,
            actors=TEXT,
            release_type=one_of("One release", "Many releases"),
            release_type_details=TEXT,
            data_source_type=one_of("Static", "Dynamic"),
            data_source_type_details=TEXT,
            access_type=one_of("Interactive", "Non-interactive"),
            access_type_details=TEXT,
        ),
        accounting=closed(post_processing=TEXT, composition=TEXT),
        implementation=closed(
            preprocessing_and_hyperparameter_tuning=TEXT, mechanisms=TEXT, justification=TEXT
        ),
        administrative=closed(
            sources=TEXT,
            notes=TEXT,
            registry_authors={"type": "array", "minItems": 1, "items": TEXT},
        ),
    ),
)
ABOUT = {
    "name": "People around the bay",
    "curator": "Office of Statistics",
    "curator_type": "Government agency",
    "region": "Japan",
    "intended_use": "Planning",
    "description": "Counts of people in cells of 500 m.",
    "publication_date": "2025-04-01",
    "authors": ["A. Author"],
    "slug": "people-around-the-bay",
}
GRID = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.2, 35.1))
MASKED = GRID.with_mask(
    mask_of_blocks(GRID, np.array([[0], [0], [8], [16]]), "coastline | <b>of 2020</b>")
)
PEOPLE = 7919


def table_of(grid=MASKED, people=PEOPLE):
    return geodp.CountTable.from_index(grid, [[1, 3], [2, 5]], [people, people])


def card_of(folder, release):
    release.write(folder, overwrite=True)
    return json.loads((folder / "public" / "release.json").read_text(encoding="utf-8"))


@pytest.fixture
def card(tmp_path):
    terms = {"neighbours": "replace-one", "contribution": 3, "unit": "household"}
    return card_of(
        tmp_path / "out", geodp.publish(table_of(), epsilon="1/7", **{"contribution": 1, **terms})
    )


def test_gaussian_noise_is_reported_with_rho_delta_and_epsilon(tmp_path):
    release = geodp.publish(table_of(), method="pyramid", rho="1/8", delta="1e-6", contribution=1)
    card = card_of(tmp_path / "out", release)
    assert all(check.ok for check in verify(tmp_path / "out"))
    text = markdown(Card.from_json(card))
    for phrase in ("Rho: 1/8 = 0.125", "Delta: 1/1000000", "Epsilon: ", "sigma squared 4"):
        assert phrase in text
    loss = registry_record(Card.from_json(card), ReleaseMetadata.of(ABOUT))["deployment"][
        "privacy_loss"
    ]
    assert loss["privacy_parameters"]["rho"] == 0.125
    assert set(loss["privacy_parameters"]) == {"epsilon", "delta", "rho"}


def test_rho_alone_has_no_epsilon(tmp_path):
    card = card_of(
        tmp_path / "out", geodp.publish(table_of(), method="topdown", rho="1/8", contribution=1)
    )
    assert all(check.ok for check in verify(tmp_path / "out"))
    assert card["guarantee"]["epsilon"] is None
    assert "Epsilon" not in markdown(Card.from_json(card))


def values(node):
    """All plain values of a tree."""
    if isinstance(node, dict | list):
        for inner in node.values() if isinstance(node, dict) else node:
            yield from values(inner)
    else:
        yield node


def test_the_record_has_the_registrys_layout(card):
    record = registry_record(Card.from_json(card), ReleaseMetadata.of(ABOUT))
    jsonschema.validate(json.loads(json.dumps(record)), SCHEMA)
    loss = record["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1 / 7}
    assert "epsilon = 1/7" in loss["privacy_parameters_details"]
    assert loss["privacy_unit"] == "Household-level"
    for phrase in ("replacing one household", "replace-one", "at most 3", "vouched for"):
        assert phrase in loss["privacy_unit_details"]
    implementation = record["deployment"]["implementation"]
    assert "coastline" in implementation["preprocessing_and_hyperparameter_tuning"]
    assert "vouches for" in implementation["preprocessing_and_hyperparameter_tuning"]
    for phrase in ("sampled exactly", "Key of", "Floating point", "Timing", "geodp "):
        assert phrase in implementation["mechanisms"]


@pytest.mark.parametrize("change", ["drop", "add"])
def test_the_schema_of_this_test_refuses(card, change):
    record = registry_record(Card.from_json(card), ReleaseMetadata.of(ABOUT))
    if change == "drop":
        del record["deployment"]["accounting"]["composition"]
    else:
        record["deployment"]["basic"]["people"] = PEOPLE
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, SCHEMA)


def test_a_release_that_is_not_private_has_no_record(tmp_path):
    release = geodp.publish(table_of(), epsilon=1, key=geodp.NoiseKey(bytes(32)), contribution=1)
    card = card_of(tmp_path / "out", release)
    with refuses(UsageError, "registry-needs-private"):
        registry_record(Card.from_json(card), ReleaseMetadata.of(ABOUT))
    assert "**NOT PRIVATE**" in markdown(Card.from_json(card))


def test_a_variant_without_a_name_is_refused(card):
    card["guarantee"]["variant"] = "differential privacy by decree"
    with refuses(UsageError, "registry-variant-unknown"):
        registry_record(Card.from_json(card), ReleaseMetadata.of(ABOUT))


def test_the_card_for_people_has_every_number_of_the_guarantee(card):
    text = markdown(Card.from_json(card))
    numbers = [v for v in values(card["guarantee"]) if isinstance(v, int | float)]
    assert len(numbers) >= 5
    for number in numbers:
        assert isinstance(number, bool) or repr(number) in text
    for key in ("in_words", "epsilon", "noise_scale", "unit", "neighbours", "noise_key"):
        assert str(card["guarantee"][key]) in text
    assert "One isolated populous cell" in text
    assert "The sum of an isolated settlement of " in text
    for row in card["expected_error"]["blocks"]:
        assert f"| {row['cells']:,} | {row['standard_error']:g} | ±{row['margin_95']:g} |" in text
    for heading in (
        "Guarantee",
        "Assumptions",
        "Domain",
        "Budget",
        "Mechanism",
        "Expected error",
        "Post-processing and bias",
        "Limits and hazards",
        "Files",
    ):
        assert f"\n## {heading}\n" in text
    assert all(entry["sha256"] in text for entry in card["files"])
    assert "<b>" not in text
    assert "coastline \\| &lt;b>of 2020" in text


def test_nothing_depends_on_the_data(tmp_path):
    """Two tables, one card but for the released files' digests."""
    about = ReleaseMetadata.of(ABOUT)
    texts_of_tables = []
    for people in (PEOPLE, 3 * PEOPLE):
        card = card_of(
            tmp_path / str(people),
            geodp.publish(table_of(people=people), epsilon=1, contribution=1),
        )
        texts = [
            markdown(Card.from_json(card)),
            json.dumps(registry_record(Card.from_json(card), about)),
        ]
        for number in (people, 2 * people):
            assert not any(str(number) in text or f"{number:,}" in text for text in texts)
        for digest in (card["release_id"], *(entry["sha256"] for entry in card["files"])):
            texts = [text.replace(digest, "digest") for text in texts]
        texts_of_tables.append(texts)
    assert texts_of_tables[0] == texts_of_tables[1]


def test_a_charge_is_in_the_card_and_the_record(tmp_path):
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", PureDP(Fraction(2, 3)))
    release = geodp.publish(
        table_of(), epsilon="1/7", ledger=ledger, dataset="census", contribution=1
    )
    card = card_of(tmp_path / "out", release)
    record = registry_record(Card.from_json(card), ReleaseMetadata.of(ABOUT))
    for text in (markdown(Card.from_json(card)), record["deployment"]["accounting"]["composition"]):
        assert "data set census before it was published, after 0 earlier releases" in text
        assert "Spent with it: epsilon = 1/7; cap: epsilon = 2/3." in text
        assert card["budget"]["head"] in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None, "slug": None}, "registry-fields-missing: name, slug"),
        ({"color": "red"}, "registry-fields-unknown"),
        ({"region": " "}, "registry-field-kind: region"),
        ({"region": 4}, "registry-field-kind: region"),
        ({"authors": []}, "registry-field-kind: authors"),
        ({"authors": "A. Author"}, "registry-field-kind: authors"),
        ({"slug": "A b"}, "registry-slug"),
        ({"publication_date": "1 April"}, "registry-date"),
        ({"publication_date": "20250401"}, "registry-date"),
    ],
)
def test_registry_metadata_are_checked(change, message):
    values = {k: v for k, v in {**ABOUT, **change}.items() if v is not None}
    with refuses(UsageError, message):
        ReleaseMetadata.of(values)


def test_a_date_of_toml_is_a_date():
    values = {**ABOUT, "publication_date": date(2025, 4, 1)}
    assert ReleaseMetadata.of(values) == ReleaseMetadata.of(ABOUT)


def toml(values):
    return "".join(f"{k} = {json.dumps(v)}\n" for k, v in values.items())


def test_the_command_line(tmp_path, card):
    def run(*arguments):
        command = ["report", *map(str, arguments)]
        return CliRunner().invoke(command_line, command, catch_exceptions=False).stdout

    out, about = tmp_path / "out", tmp_path / "about.toml"
    about.write_text(toml(ABOUT))
    assert run(out) == markdown(Card.from_json(card))
    assert json.loads(run(out / "public", "--json")) == card
    record = json.loads(run(out, "--json", "--about", about))
    assert record == registry_record(Card.from_json(card), ReleaseMetadata.of(ABOUT))
    assert run(out, "--output", tmp_path / "card.md").strip() == str(tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == markdown(Card.from_json(card))
    with refuses(UsageError, "option-needs-option: --about"):
        run(out, "--about", about)
    with refuses(UsageError, "option-of-pages: --about"):
        run(out, "--about", about, "--output", tmp_path / "card.md")
    with refuses(VerificationError, "folder-without-release"):
        run(tmp_path / "absent")
    with pytest.raises(OutputError):
        run(out, "--output", tmp_path / "absent" / "card.md")
    with refuses(InputError, "metadata-unreadable: cannot be read"):
        run(out, "--json", "--about", tmp_path / "absent")
    about.write_text("name =")
    with refuses(InputError, "metadata-not-toml"):
        run(out, "--json", "--about", about)
    about.write_text(toml({"name": "x"}))
    with refuses(
        UsageError, r"registry-fields-missing: about\.toml: .*curator, curator_type, region"
    ):
        run(out, "--json", "--about", about)


def test_the_card_has_the_publishers_metadata_and_the_superseded_release():
    table = geodp.CountTable.from_dense(np.full((8, 8), 5), geodp.Grid.regular((8, 8)))
    terms = {"epsilon": 1, "contribution": 1, "key": geodp.NoiseKey(bytes(32))}
    texts = {}
    full = {"title": "Stays <i>", "reference_date": "2020-10-01", "supersedes": "0123456789abcdef"}
    for metadata in (None, full):
        card = geodp.publish(table, metadata=metadata, **{"contribution": 1, **terms}).card()
        card = replace(card, name="population", release_id="0" * 16)
        texts[bool(metadata)] = markdown(card)
    before, _, rest = texts[True].partition("## From the publisher\n\n")
    publisher, _, after = rest.partition("\n\n## Guarantee")
    lines = publisher.splitlines()
    assert lines[0] == "- Title: Stays &lt;i>"
    assert lines[1] == "- Reference date: 2020-10-01"
    assert lines[2].startswith("- Replaces the release, which is not to be used any more: 01234567")
    assert "## Guarantee".join((before, after)) == texts[False]


def test_the_card_has_the_display_rule_and_its_limits():
    table = geodp.CountTable.from_dense(np.full((8, 8), 5), geodp.Grid.regular((8, 8)))
    terms = {"epsilon": 1, "contribution": 1, "key": geodp.NoiseKey(bytes(32))}
    texts = {}
    for limit in (None, 1234):
        metadata = None if limit is None else {"display_below": limit}
        card = geodp.publish(table, metadata=metadata, **{"contribution": 1, **terms}).card()
        texts[limit] = markdown(replace(card, name="population", release_id="0" * 16))
    before, _, rest = texts[1234].partition("## Display\n\n")
    rule, _, after = rest.partition("\n\n## Files")
    assert "counts above 0 and below 1,234 as &lt;1,234." in rule
    assert "protects nobody" in rule
    assert "## Files".join((before, after)) == texts[None]


def test_the_unit_of_local_reports_has_neighbours_and_bound():
    guarantee = SimpleNamespace(
        model="local", unit="trip", neighbours="replace-one", contribution_bound="one report"
    )
    assert "one trip sends" in describe_unit(guarantee)
    assert describe_unit(guarantee).endswith("have been at (replace-one); one report.")
