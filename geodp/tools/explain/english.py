"""The page in English: sentences of at most 25 words, and the terms that they may use.

Figures stand in braces: ``:n`` for a number, ``:p`` for a part in percent, nothing for text.
"""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "title_differencing": "What seven questions about a class reveal",
    "heading_class": "A class",
    "class_known": "Everybody knows the {pupils:n} pupils of a class: their names, who is a girl "
    "or a boy, and their clubs.",
    "class_target": "Their grades are secret. Somebody asks how many have the top grade, and means "
    "{name}, the only girl who is in the music club.",
    "heading_questions": "Seven questions",
    "questions_table": "The table has the exact answers, and answers with noise. After each line "
    "stands the chance that {name} has the top grade.",
    "column_question": "how many have the top grade",
    "column_exact": "exact",
    "column_ways": "ways that are left",
    "column_known": "chance",
    "column_noisy": "with noise",
    "column_believed": "chance then",
    "ask_all": "of all",
    "ask_boys": "of the boys",
    "ask_chess": "in the chess club",
    "ask_tennis": "in the tennis club",
    "ask_music": "in the music club",
    "ask_not_chess": "outside of the chess club",
    "ask_not_chess_not_target": "outside of the chess club, without {name}",
    "heading_subtracted": "What subtracting reveals",
    "subtracted_exact": "The last two exact answers are {sixth} and {seventh}. So {name} has the "
    "top grade, though no question was about one pupil.",
    "subtracted_noisy": "With noise the same two answers are {sixth} and {seventh}, and their "
    "difference reveals little.",
    "subtracted_bound": "All answers together have epsilon {epsilon:n}. Whatever is subtracted, a "
    "chance of {prior:p} becomes at most {most:p}.",
    "title": "What release {release_id} of {name} reveals",
    "not_private": "This release is NOT PRIVATE: anybody can work out its noise and remove it.",
    "heading_withdrawn": "Withdrawn",
    "withdrawn": "This release was withdrawn on {withdrawn}, and is not to be used any more.",
    "withdrawn_reason": "The office says why: {reason}",
    "withdrawn_use": "Use the release {use} instead.",
    "withdrawn_unreadable": "A note beside this release says that one was withdrawn, but it cannot "
    "be read or is about another release.",
    "nothing_holds": "So none of the promises of its method holds, and this page ends here.",
    "heading_promise": "What is promised",
    "suppose_add": "Suppose one {unit} had not been counted, or one more had.",
    "suppose_replace": "Suppose one {unit} had been counted in place of another.",
    "suppose_local": "Suppose one {unit} had been at another place when it sent its report.",
    "factor": "Then any result that anybody sees would be at most {factor:n} times as likely as it "
    "is without this change.",
    "factor_but": "Then any result that anybody sees would be at most {factor:n} times as likely "
    "as without this change, but for one of {one_in:n} cases.",
    "named_epsilon": "The measure of this is epsilon; here it is {epsilon}.",
    "named_rho": "The measure of this is rho; here it is {rho}.",
    "named_delta": "The office states it as epsilon and delta: {epsilon} and {delta}.",
    "depends": "This holds for this table together with all that it depends on: it was made of "
    "noisy counts of other tables of its release, too.",
    "bound_enforced": "One {unit} adds at most {contribution:n} to the sum of all counts; geodp "
    "made sure of it.",
    "bound_vouched": "It holds if one {unit} adds at most {contribution:n} to the sum of all "
    "counts; the office answers for that.",
    "bound_layout": "It holds if one {unit} adds at most {contribution:n} to the sum of all "
    "counts; the layout of the official table says so: {layout}.",
    "trust_local": "Every {unit} makes its own noise, so nobody else needs to be trusted.",
    "period_local": "It holds for one report; a {unit} sends at most {contribution:n} in a period.",
    "heading_beliefs": "What somebody can find out",
    "beliefs_add": "Somebody suspects that one {unit} was counted, and then reads all that was "
    "published here.",
    "beliefs_any": "Somebody suspects something about one {unit}, and then reads all that was "
    "published here.",
    "beliefs_half": "If the chance of this was {half:p} for them before, it lies between {least:p} "
    "and {most:p} afterwards.",
    "beliefs_where": "The same holds if the question is where one {unit} was.",
    "beliefs_table": "The table shows what other chances before can become afterwards.",
    "beliefs_but": "In one of {one_in:n} cases it may move further.",
    "beliefs_independent": "This holds if people are independent of one another.",
    "rounded": "These numbers are rounded.",
    "column_before": "chance before",
    "column_least": "at least afterwards",
    "column_most": "at most afterwards",
    "heading_where": "Can somebody find out where one {unit} was counted?",
    "where": "Somebody knows that one {unit} was counted, and has a place in mind.",
    "where_half": "If the chance of this place was {half:p} for them before, it lies between "
    "{where_least:p} and {where_most:p} afterwards.",
    "where_but": "In one of {where_one_in:n} cases it may move further.",
    "heading_guess": "The best bet",
    "guess_add": "Somebody bets on whether one {unit} was counted, and both are equally likely.",
    "guess_replace": "Somebody bets on which of two was counted, and both are equally likely.",
    "guess_local": "Somebody bets on which of two places one {unit} was at, and both are equally "
    "likely.",
    "guess_right": "The best bet is right in at most {right:p} of all cases; to toss a coin is "
    "right in {half:p}.",
    "guess_advantage": "So right bets are ahead of wrong ones by at most {advantage:p} of all "
    "cases.",
    "heading_households": "Households",
    "households": "In a household, people often share what is true of them.",
    "households_epsilon": "If something is true of all of them or of none, more can be found out; "
    "the table shows how much.",
    "households_rho": "If something is true of all of them or of none, more can be found out: rho "
    "grows with the square of their number.",
    "column_people": "people",
    "heading_subtract": "What subtracting sums would do",
    "subtract_exact": "In exact tables, two sums that differ by one {unit} show what is true of "
    "that {unit}.",
    "subtract_noise": "Here all sums have noise, and it stays in whatever is worked out from them.",
    "subtract_cell": "A single cell has a standard error of {error:n}, and one {unit} changes it "
    "by at most {contribution:n}.",
    "subtract_width": "The noise of one measurement has a width of at least {error:n}, and one "
    "{unit} changes it by at most {contribution:n}.",
    "subtract_ratio": "So what one {unit} changes is hidden in noise {ratio:n} times as large.",
    "subtract_bound": "No sum or difference moves a chance further than the tables above show.",
    "heading_errors": "How far numbers are off",
    "errors_table": "The table has the standard error of sums over blocks of cells.",
    "errors_unknown": "It depends on the people themselves, so the card cannot say it.",
    "errors_clamped": "It holds where the method had no negative count to correct.",
    "column_cells": "cells",
    "column_error": "standard error",
    "lone_cell": "A single cell with many people in an empty region comes out too low, by {bias:n} "
    "on average.",
    "lone_error": "Its typical error is {rmse:n}.",
    "lone_block": "A settlement of {cells:n} cells in an empty region comes out too low, by "
    "{bias:n} on average.",
    "limit": "With {people:n} people in all, blocks of fewer than {cells:n} cells say no more than "
    "zeros would.",
    "limit_cell": "With {people:n} people in all, even single cells say more than zeros would.",
    "limit_none": "With {people:n} people in all, even the whole map says no more than zeros "
    "would.",
    "limit_unknown": "There is no guess of the number of all people, so the card names no "
    "smallest useful block.",
    "heading_open": "What is not protected",
    "open_town": "What is true of a whole town is not hidden: to show it is what a release is for.",
    "open_others": "Other tables about the same people that have no noise are not covered.",
    "open_domain": "The list of cells and all that the card says are public.",
    "open_releases": "Other releases about the same people add to this one.",
    "open_depends": "Tables that were released together were charged once: their budgets do not "
    "add up.",
    "open_groups": "Groups of people are protected less, as the part on households says.",
    "open_key": "Two releases with the same kept key and the same input are identical, and anybody "
    "sees that.",
    "open_row": "That at least one row of every file counts is known: a file that adds nobody is "
    "refused.",
    "open_sums": "That labels which are sums of others fit what one person may add is known.",
    "open_part": "Taking part and the number of reports are public.",
    "open_reports": "Further reports of the same {unit} add to this one.",
    "open_network": "Network addresses and times of reports are not protected.",
    "open_quoted": "The card adds in its own words: {quoted}",
    "spent": "With {earlier:n} earlier releases of the same people, {spent} is spent, of at most "
    "{cap}.",
    "spent_unknown": "This release was charged to no ledger, so nobody adds up what others spend.",
    "loss_epsilon": "epsilon {epsilon}",
    "loss_rho": "rho {rho}",
    "loss_delta": "epsilon {epsilon} and delta {delta}",
    "households_title": "What persons and households together reveal about one {unit}",
    "heading_together": "What is released together",
    "together_possible": "Persons and households are one release: in every cell, and so in every "
    "area, households are at most persons, and persons at most {size:n} for each household.",
    "together_once": "What follows holds for all of its tables together, which were charged once.",
    "together_others": "Persons outside households are a table of their own of this release.",
    "together_person": "One person is protected. A whole household is as many people together, "
    "whose table is below.",
    "together_household": "A whole household is protected, with all of its members. One of them "
    "alone is protected as well.",
    "counted_person_vouched": "It holds if one person is counted in at most {contribution:n} of "
    "all households; the office answers for that.",
    "counted_household_vouched": "It holds if one household adds at most {contribution:n} to the "
    "households of all cells and sizes; the office answers for that.",
    "counted_household_enforced": "One household adds at most {contribution:n} to the households "
    "of all cells and sizes; geodp made sure of it.",
    "counted_single": "It holds for one person if each person is in one household; the office "
    "answers for that.",
    "amounts_title": "What counts and amounts of {name} together reveal about one {unit}",
    "amounts_means": "Counts, sums and means of {name} are one release: they agree in every area.",
    "amounts_clipped": "Amounts below {lower} and above {upper}, in {measure}, count as these, so "
    "that how far beyond a single amount lies changes nothing.",
    "amounts_classes": "Records are also counted by class of {name}; medians and other quantiles "
    "follow from these counts.",
    "amounts_vouched": "It holds if one {unit} has at most {contribution:n} of all records; the "
    "office answers for that.",
    "amounts_enforced": "One {unit} has at most {contribution:n} of all records; geodp made sure "
    "of it.",
    "amounts_weighed_vouched": "It holds if the records of one {unit} have weights of at most "
    "{contribution:n} together; the office answers for that.",
    "amounts_weighed_enforced": "Of one {unit}, records count as at most {contribution:n} "
    "together, each as its weight; geodp made sure of it.",
    "amounts_weights": "A record counts as many times as its weight says, at most {largest:n} "
    "times. Weights are taken as given: one that was calibrated on other respondents depends on "
    "these, which the guarantee does not cover.",
    "amounts_given_same": "Every record is a person of an earlier release, whose counts are kept "
    "as they were published: {spent} for these, and {new} for the amounts.",
    "amounts_given_part": "Records are of a part of the persons of an earlier release, and nowhere "
    "more than these: {spent} for these persons, and {new} for the amounts.",
    "amounts_prior": "Counts and amounts were also estimated with a public prior, which the office "
    "vouches for: {source}.",
    "amounts_prior_unused": "A public prior, which the office vouches for, did not fit the counts "
    "and amounts that were measured, and was not used: {source}.",
    "amounts_period": "This is the period {time}, one of {number:n} from {first} to {last}. What "
    "all of them show together is on a page of its own.",
    "amounts_series_prior": "Counts and amounts of every period were also estimated with a public "
    "prior, which the office vouches for, where it fits what was measured: {source}.",
    "amounts_series_title": "What counts and amounts of {name} from {first} to {last} "
    "reveal about one {unit}",
    "tables_title": "What all tables together reveal about one {unit}",
    "tables_are": "Released together are {number:n} tables: {names}.",
    "tables_bound": "It holds if one {unit} adds at most {contribution:n} to all counts of each "
    "table; the cards of the tables say who answers for that.",
    "census_title": "What the whole table reveals about one {unit}",
    "census_columns": "Released together is a table of {number:n} columns, which add up in every "
    "cell and every area. In brackets is what divides it further: {tree}.",
    "census_parts": "Which of these parts one {unit} is in can be found out no better than where "
    "one {unit} was counted: the numbers on that hold for all columns together.",
    "census_households": "Who joins a household or leaves it moves that household from one part to "
    "another, which is protected, too.",
    "census_fitted": "Counts that contradicted each other were fitted before the noise was added: "
    "protected is one {unit} in the file as it was given.",
    "census_vouched": "It holds if one {unit} adds at most {contribution:n} to the sum of the "
    "counts of the persons, with one part of each of their margins, and is a member of at most as "
    "many households; the office answers for that.",
    "series_title": "What the series from {first} to {last} reveals about one {unit}",
    "series_bound": "It holds if one {unit} adds at most {contribution:n} to all counts of each "
    "period; the cards of the periods say who answers for that.",
    "series_all": "There are {number:n} periods, from {first} to {last}, and one {unit} "
    "may be in all of them.",
    "series_one": "There are {number:n} periods, from {first} to {last}. What follows "
    "holds if one {unit} is in only one of them; the office answers for that.",
    "amounts_series_vouched": "It holds if one {unit} has at most {contribution:n} of the records "
    "of each period; the office answers for that.",
    "amounts_series_enforced": "One {unit} has at most {contribution:n} of the records of each "
    "period; geodp made sure of it.",
    "amounts_series_weighed_vouched": "It holds if the records of one {unit} in each period have "
    "weights of at most {contribution:n} together; the office answers for that.",
    "amounts_series_weighed_enforced": "Of one {unit}, the records of each period count as at most "
    "{contribution:n} together, each as its weight; geodp made sure of it.",
    "flows_title": "What trips and the maps of their ends together reveal about one {unit}",
    "flows_agree": "Trips between zones, origins and destinations are one release: trips from a "
    "zone add up to its origins, and trips to it to its destinations.",
    "flows_pairs": "Trips between blocks of {side:n} by {side:n} zones, and between larger ones, "
    "were counted and got noise.",
    "flows_pairs_units": "Trips between blocks of at most {number:n} zones, and between larger "
    "ones, were counted and got noise.",
    "flows_stays": "Trips were made of stays of persons: each leads from a stay to the next one.",
    "flows_stays_gap": "Trips were made of stays of persons: each leads from a stay to the next "
    "one, unless this begins more than {gap} after it. Trips over a longer time are not counted.",
    "flows_pings": "Trips were made of pings, records of where somebody was: of pings within "
    "{radius:n} m over at least {dwell} a stay, and of each stay and the next one a trip, unless "
    "there was no ping for more than {gap} meanwhile. Trips and stays over a longer time without a "
    "ping are not counted.",
    "flows_zones": "Trips between single zones were counted and got noise, and so were those "
    "between blocks of zones.",
    "flows_estimated": "Trips between two smaller places are an estimate from these and from both "
    "maps of ends: nobody's trips were looked at again.",
    "flows_labels": "Trips were also counted by {attributes}, from and to blocks of {side:n} by "
    "{side:n} zones and between blocks of {pair_side:n} by {pair_side:n}, and got noise: what "
    "this tells of one {unit} is limited by the same promise.",
    "flows_labels_units": "Trips were also counted by {attributes}, from and to blocks of at most "
    "{number:n} zones and between blocks of at most {pair_number:n}, and got noise: what this "
    "tells of one {unit} is limited by the same promise.",
    "flows_labels_zones": "Trips were also counted by {attributes}, from and to single zones and "
    "between blocks of at most {pair_number:n}, and got noise: what this tells of one {unit} is "
    "limited by the same promise.",
    "flows_prior": "Trips between smaller places were also estimated with a public prior, which "
    "the office vouches for: {source}.",
    "flows_prior_ends": "The numbers of trips that begin and end in a place were also estimated "
    "with a public prior, which the office vouches for: {source}.",
    "flows_prior_unused": "A public prior, which the office vouches for, did not fit what was "
    "measured, and was not used: {source}.",
    "flows_enforced": "Of one {unit}, at most {contribution:n} trips count; geodp made sure of it.",
    "flows_weighed": "Of one {unit}, trips count as at most {contribution:n} together, each as its "
    "weight; geodp made sure of it.",
    "flows_weights": "A trip counts as many times as its weight says, at most {largest:n} times. "
    "Weights are taken as given: one that was calibrated on other respondents depends on these, "
    "which the guarantee does not cover.",
    "flows_raked": "Weights were raked, so that they add up to totals of the same data: {totals}. "
    "These totals are known without any noise, and the guarantee does not cover them.",
    "flows_vouched": "It holds if one {unit} has at most {contribution:n} of all trips; the office "
    "answers for that.",
    "flows_period": "What is protected is one {unit}. One person's trips over a longer time are as "
    "many of these together, and are protected less.",
    "title_top": "Places with the most people",
    "title_areas": "Areas of the level {level} with the most people",
    "title_quantile": "Where along {axis} a part of {q} of all people ends",
    "heading_answer": "What was asked, and how sure the answer is",
    "answer_code": "code",
    "answer_row": "row",
    "answer_col": "col",
    "asked_top": "The question was which cells hold the most people.",
    "asked_areas": "The question was which areas of the level {level} hold the most people.",
    "asked_quantile": "The question was where along {axis} a part of {q} of all people ends.",
    "selection_named": "There were {candidates:n} to choose from; named: {chosen:n}. No count is "
    "published.",
    "selection_lot": "The choice was drawn by lot; what is better is more likely to be drawn.",
    "near_top": "In each draw, a place with {behind:n} people fewer than the best one left is at "
    "most half as likely.",
    "near_quantile": "A place that is off by {behind:n} people more than the best is at most half "
    "as likely to be drawn.",
    "selection_empty": "Where fewer than {below:n} people live, expect that empty places are named "
    "now and then.",
    "selection_all": "The list has them in the order in which they were drawn.",
    "selection_some": "The list has the first ones in the order in which they were drawn; the card "
    "has all.",
    "open_counts": "How many people live at a named place was not published; to publish it costs "
    "more.",
    "audit_title": "What a sampled table without its small counts reveals",
    "audit_rate": "It holds if every record was drawn with the chance {rate:p}, and nobody knows "
    "which ones.",
    "audit_threshold": "Counts below {threshold:n} must be left out, and cells be fixed before "
    "anybody looked at the data.",
    "audit_measure": "The measures of this are epsilon and delta; here they are {epsilon:n} and "
    "{delta:n}.",
    "audit_exact": "Counts have no noise: they are exact counts of the sample.",
    "audit_drawn": "If somebody knows that one {unit} was drawn, nothing of this holds.",
    "audit_again": "A second table from the same sample breaks it, also one with noise.",
    "households_delta": "If something is true of all or of none, their epsilons add up, and "
    "delta grows faster.",
    "heading_words": "Words",
    "word": "{term}: {meaning}.",
}

TERMS: Mapping[str, str] = {
    "card": "the file release.json, which says how a release was made",
    "cell": "one square of the map, or one group of people in it",
    "block": "neighbouring cells that lie in one square",
    "noise": "random numbers that were added to counts before anybody saw them",
    "measurement": "a count or a difference of counts that noise was added to",
    "chance": "how likely somebody thinks that something is true",
    "standard error": "the typical distance of a number from the true one",
    "epsilon": "how far chances can move at most; a smaller one protects more",
    "rho": "how far chances can move, measured for noise in the form of a bell; a smaller one "
    "protects more",
    "independent": "what is true of one person tells nothing about another",
    "household": "people who live together",
    "delta": "the part of all cases in which epsilon does not hold",
    "ledger": "the account of all that was spent on one data set",
    "level": "the size of the cells or areas of a map",
    "contribution": "the most that one person adds to the sum of all counts",
    "kept key": "a secret number from which the same noise can be made again",
    "release": "the tables and maps that were published, and their card",
    "report": "what one device sends",
    "sample": "the records that were drawn by lot",
}

UNITS: Mapping[str, str] = {
    one: one
    for one in (
        "person",
        "household",
        "trip",
        "person-day",
        "person-week",
        "person-month",
        "device",
    )
}
"""One unit of privacy, by how a card names it."""

ONE = "{unit}"
"""Text for any other unit."""
