"""The list of instances as a person sees it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Running
from tests.e2e.dashboard.shop import GATES

Open = Callable[..., Page]


@pytest.fixture(scope="module", autouse=True)
def instances(shop: Running) -> None:
    for n in range(60):
        shop.create("quick", f"quick-{n:03d}", {"n": n, "user": {"name": "Asha" if n == 7 else "Ravi"}})
    shop.create("orders", "order-waiting", {"sleep": 0})
    shop.create("orders", "order-declined", {"card": "bad", "limit": 0})
    shop.idle()


def rows(page: Page) -> list[str]:
    return page.locator("#rows tr .id").all_inner_texts()


def shows(page: Page, ids: list[str]) -> None:
    """The rows come to be these: a click is answered by a page that takes its time."""
    expect(page.locator("#rows tr .id")).to_have_text(ids)


def test_segments_count_exactly_and_narrow_the_list(shop: Running, open_page: Open) -> None:
    page = open_page(shop.base)
    expect(page.locator(".counts a", has_text="Complete").locator("b")).to_have_text("60")

    page.locator(".counts a", has_text="Errored").click()

    shows(page, ["order-declined"])
    assert "status=errored" in page.url


def test_two_segments_show_both_statuses(shop: Running, open_page: Open) -> None:
    page = open_page(shop.base)
    page.locator(".counts a", has_text="Errored").click()
    page.locator(".counts a", has_text="Waiting").click()

    expect(page.locator("#rows tr .id")).to_have_count(2)
    assert sorted(rows(page)) == ["order-declined", "order-waiting"]


def test_a_row_says_what_its_instance_is_doing(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=orders")

    expect(page.locator("tr", has_text="order-waiting")).to_contain_text("Waiting for event approval, times out in")
    expect(page.locator("tr", has_text="order-declined")).to_contain_text("charge card CardDeclined")
    expect(page.locator("tr", has_text="order-declined")).to_contain_text("card bad was declined")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("quick-042", ["quick-042"]),
        ("params.user.name:Asha", ["quick-007"]),
        ("params.n:12", ["quick-012"]),
        ("error:declined", ["order-declined"]),
        ("waiting:approval", ["order-waiting"]),
        ('step:"charge card" status:errored', ["order-declined"]),
        ("text:Asha", ["quick-007"]),
        ("dur:>1d", []),
    ],
)
def test_words_of_the_search_narrow_the_list(shop: Running, open_page: Open, words: str, found: list[str]) -> None:
    page = open_page(shop.base)
    page.locator("#q").fill(words)
    page.keyboard.press("Enter")
    page.wait_for_url("**q=**")

    shows(page, found)


def test_a_word_that_is_not_understood_is_named(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?q=colour:red")

    expect(page.get_by_role("alert")).to_contain_text('Unknown filter "colour:"')


def test_the_search_box_completes_words_and_step_names(shop: Running, open_page: Open) -> None:
    page = open_page(shop.base)
    page.locator("#q").press_sequentially("ste")
    expect(page.locator("#words li")).to_have_count(1)

    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#words li", has_text="charge card")).to_be_visible()


def test_pages_follow_one_another_without_gap_or_repetition(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=quick")
    first = rows(page)
    page.get_by_role("link", name="Next").click()
    page.wait_for_url("**after=**")
    second = rows(page)
    page.get_by_role("link", name="Next").click()
    shows(page, [f"quick-{n:03d}" for n in range(9, -1, -1)])

    assert first + second == [f"quick-{n:03d}" for n in range(59, 9, -1)]
    page.get_by_role("link", name="Previous").click()
    page.wait_for_url("**before=**")
    shows(page, second)


def test_nothing_matching_says_which_filter_to_drop(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?q=nothing-like-it&status=errored")

    expect(page.locator(".empty")).to_contain_text("No matches")
    page.get_by_role("link", name="Without “nothing-like-it”").click()
    shows(page, ["order-declined"])


def test_the_keyboard_moves_opens_and_goes_back(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=quick")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("tr.here .id")).to_have_text("quick-058")

    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("quick-058")
    expect(page.locator("#live")).to_contain_text("Live")

    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("workflow=quick"))


@pytest.mark.parametrize("way", ["Escape", "crumb"])
def test_the_way_back_leads_to_the_list_as_it_was(shop: Running, open_page: Open, way: str) -> None:
    page = open_page(f"{shop.base}?status=complete&q=step:fetch")
    page.get_by_role("link", name="Next").click()
    page.wait_for_url("**after=**")
    address = page.url
    for _ in range(5):
        page.keyboard.press("j")
    expect(page.locator("tr.here")).to_have_count(1)
    row, top = _here(page)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(row)
    expect(page.locator("#live")).to_have_text("Live")

    if way == "Escape":
        page.keyboard.press("Escape")
    else:
        page.locator(".crumbs").get_by_role("link", name="Instances").click()
    expect(page).to_have_url(address)
    expect(page.locator("tr.here .id")).to_be_focused()
    assert _here(page) == (row, top)


def _here(page: Page) -> tuple[str, int]:
    row = page.locator("tr.here")
    box = row.bounding_box()
    assert box is not None
    return row.locator(".id").inner_text(), round(box["y"])


def test_the_crumb_of_the_workflow_keeps_the_filters(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?status=complete&q=quick-04")
    page.locator("#rows .id").first.click()
    expect(page.locator("#live")).to_have_text("Live")
    page.locator(".crumbs").get_by_role("link", name="quick").click()

    expect(page).to_have_url(f"{shop.base}?status=complete&q=quick-04&workflow=quick")


def test_after_a_delete_one_is_back_at_the_list_as_it_was(shop: Running, open_page: Open) -> None:
    shop.create("quick", "to-be-deleted", {})
    shop.idle()
    page = open_page(f"{shop.base}?status=complete&q=step:fetch")
    page.locator("#rows .id", has_text="to-be-deleted").click()
    expect(page.locator("#live")).to_have_text("Live")
    page.locator("#head").get_by_label("More actions").click()
    page.locator("#head").get_by_role("button", name="Delete").click()
    page.keyboard.press("Enter")

    expect(page).to_have_url(f"{shop.base}?status=complete&q=step:fetch")
    expect(page.locator("#toasts")).to_have_text("Deleted to-be-deleted")


def test_an_instance_that_was_not_opened_from_a_list_leads_back_to_that_of_its_workflow(
    shop: Running, open_page: Open
) -> None:
    page = open_page(shop.instance_url("quick", "quick-001"))
    expect(page.locator("#live")).to_have_text("Live")
    page.keyboard.press("Escape")

    expect(page).to_have_url(f"{shop.base}?workflow=quick")


def test_the_row_that_the_keys_are_at_stays_so_when_the_list_changes(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=quick")
    expect(page.locator("#live")).to_contain_text("Live")
    page.keyboard.press("j")
    page.keyboard.press("j")
    here = page.locator("tr.here .id").inner_text()

    shop.create("quick", "quick-while-pointing", {})
    expect(page.locator("#matches")).to_have_text("61")

    expect(page.locator("tr.here .id")).to_have_text(here)


def test_an_instance_is_found_by_id_from_anywhere(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}/limits")
    page.keyboard.press("Control+k")
    page.keyboard.type("quick-033")
    expect(page.locator("#palette [aria-selected='true']")).to_contain_text("quick-033")
    page.keyboard.press("Enter")

    expect(page.locator("h1")).to_contain_text("quick-033")


def test_the_palette_says_that_it_finds_nothing_and_closes_at_one_escape(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}/limits")
    page.keyboard.press("Control+k")
    page.keyboard.type("quick-nowhere")
    expect(page.locator("#palette [role='option']")).to_have_text("No matching instance, page or action")
    page.keyboard.press("Enter")

    page.keyboard.press("Escape")
    expect(page.locator("#palette")).not_to_be_visible()
    expect(page.locator("h1")).to_have_text("Limits")


def test_the_palette_has_the_actions_of_the_page_then_recent_instances_then_pages(
    shop: Running, open_page: Open
) -> None:
    page = open_page(shop.instance_url("quick", "quick-033"))
    page.goto(f"{shop.base}?workflow=orders")
    page.get_by_role("link", name="Search and commands").click()

    expect(page.locator("#palette [role='group']").first).to_contain_text("New instance")
    groups = page.locator("#palette [role='group']").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert groups == ["orders", "Recent", "Go to"]
    page.get_by_role("option", name="quick-033").click()
    expect(page.locator("h1")).to_contain_text("quick-033")


def test_new_instances_appear_without_reloading(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=quick")
    expect(page.locator("#live")).to_contain_text("Live")

    shop.create("quick", "quick-new", {})

    expect(page.locator("#rows tr").first.locator(".id")).to_have_text("quick-new")


def test_new_rows_wait_while_the_reader_is_further_down(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=quick")
    expect(page.locator("#live")).to_contain_text("Live")
    page.mouse.wheel(0, 600)
    page.wait_for_function("() => window.scrollY > 100")
    before = rows(page)

    shop.create("quick", "quick-late", {})

    button = page.locator("#fresh")
    expect(button).to_have_text("Show 1 new instance")
    assert rows(page) == before
    button.click()
    expect(page.locator("#rows tr").first.locator(".id")).to_have_text("quick-late")


def test_the_list_is_useful_without_scripts(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=orders", scripts=False)

    assert len(rows(page)) == 2
    page.locator("#rows .id", has_text="order-waiting").click()
    expect(page.locator("#now")).to_contain_text("Waiting for event approval")


@pytest.mark.parametrize("scripts", [True, False])
def test_columns_are_chosen_and_remembered(shop: Running, open_page: Open, scripts: bool) -> None:
    page = open_page(f"{shop.base}?workflow=orders", scripts=scripts)
    page.locator(".columns summary").click()
    page.get_by_role("checkbox", name="Created by").check()
    page.get_by_role("checkbox", name="Steps").uncheck()
    page.get_by_role("button", name="Apply").click()
    page.wait_for_load_state()

    heads = page.locator("#instances thead th")
    expect(heads).to_have_text(["", "Status", "Instance", "Activity", "Duration", "Created", "Created by"])
    page.goto(f"{shop.base}?workflow=quick")
    expect(heads).to_have_count(7)


def test_columns_of_an_address_come_before_the_chosen_ones(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=orders&columns=ended")

    expect(page.locator("#instances thead th")).to_have_text(["", "Status", "Instance", "Ended"])


def test_the_list_is_copied_as_commands(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=orders&status=errored")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".shells > summary").click()
    page.get_by_role("button", name="Copy: Stepwell").click()
    expect(page.locator(".toast")).to_contain_text("Copied: Stepwell")

    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("stepwell workflows instances list orders --status errored --port ")


def test_a_menu_closes_at_escape_at_a_click_elsewhere_and_when_another_opens(
    shop: Running, open_page: Open
) -> None:
    page = open_page(f"{shop.base}?workflow=orders&status=errored")
    sort, columns = page.locator("details[data-key='sort']"), page.locator("details.columns")
    sort.locator("summary").click()
    columns.locator("summary").click()
    expect(sort).not_to_have_attribute("open", "")
    expect(columns).to_have_attribute("open", "")

    page.keyboard.press("Escape")
    expect(columns).not_to_have_attribute("open", "")
    assert page.evaluate("document.activeElement.ariaLabel") == "View options"
    assert page.url.endswith("status=errored")

    sort.locator("summary").click()
    page.locator("h1").click()
    expect(sort).not_to_have_attribute("open", "")


def test_a_view_is_saved_and_opened_again(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?status=errored")
    page.locator("#views summary").click()
    page.get_by_role("button", name="Save this view").click()
    page.goto(shop.base)
    page.locator("#views summary").click()
    page.get_by_role("link", name="errored", exact=True).click()

    shows(page, ["order-declined"])


def test_many_are_terminated_with_the_number_said_before(shop: Running, open_page: Open) -> None:
    for n in range(5):
        shop.create("orders", f"bulk-{n}", {})
    shop.idle()
    page = open_page(f"{shop.base}?q=bulk-")
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name="Terminate 5").click()
    expect(page.get_by_role("alertdialog")).to_contain_text("Terminate 5 instances?")
    assert shop.status("orders", "bulk-3") == "waiting"
    page.locator("#ask-line .danger").click()

    expect(page.locator("#toasts")).to_contain_text("Terminate 5 instances: done")
    expect(page.locator("#picked")).not_to_be_visible()
    assert shop.status("orders", "bulk-3") == "terminated"


def open_gate(shop: Running, instance_id: str) -> None:
    shop.loop.loop.call_soon_threadsafe(GATES[instance_id].set)


def terminate_all(page: Page, url: str) -> None:
    """With rollbacks, all that the list at this address shows."""
    page.goto(url.replace("?", "/bulk?action=terminate&all=1&"))
    page.get_by_role("checkbox", name="run the rollback handlers first").check()
    page.get_by_role("button", name="Terminate").click()
    expect(page.locator("h1")).to_contain_text("running")


def test_what_is_done_to_many_tells_how_far_it_is_and_can_be_stopped(shop: Running, open_page: Open) -> None:
    for n in (1, 2, 3):
        shop.create("held", f"held-{n}", {})
    shop.idle()
    page = open_page(shop.base)
    terminate_all(page, f"{shop.base}?q=id:held-")
    expect(page.locator("h1")).to_have_text("Terminate 3 instances: running")
    expect(page.locator("main")).to_contain_text("All instances of all Workflows that match “id:held-”")
    expect(page.locator("main")).to_contain_text("0 of 3 done")

    open_gate(shop, "held-3")
    expect(page.locator("main")).to_contain_text("1 of 3 done")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("h1")).to_have_text("Terminate 3 instances: stopping")
    open_gate(shop, "held-2")

    expect(page.locator("h1")).to_have_text("Terminate 3 instances: stopped")
    expect(page.locator("main")).to_contain_text("2 of 3 done")
    assert [shop.status("held", f"held-{n}") for n in (1, 2, 3)] == ["waiting", "terminated", "terminated"]


def test_what_failed_among_many_is_listed_with_the_reason(shop: Running, open_page: Open) -> None:
    shop.create("orders", "late-order", {})
    shop.create("held", "late-held", {})
    shop.idle()
    page = open_page(shop.base)
    terminate_all(page, f"{shop.base}?q=late-")

    # The newest is undone first, and takes its time; meanwhile the other comes to an end by itself.
    shop.do(lambda: shop.engine.workflow("orders").terminate("late-order"))
    open_gate(shop, "late-held")

    expect(page.locator("h1")).to_have_text("Terminate 2 instances: done")
    expect(page.locator("main")).to_contain_text("1 of 2 done, 1 failed.")
    expect(page.locator(".failures li")).to_have_text(re.compile("late-order.*Cannot terminate instance"))
    page.locator(".failures a").click()
    expect(page.locator("h1")).to_contain_text("late-order")


def test_the_browser_goes_back_from_what_was_done_to_the_plan_and_the_list(shop: Running, open_page: Open) -> None:
    shop.create("orders", "back-1", {})
    shop.idle()
    page = open_page(f"{shop.base}/bulk?action=pause&all=1&q=back-1")
    page.get_by_role("button", name="Pause 1").click()
    expect(page.locator("main")).to_contain_text("1 of 1 done")

    page.go_back()
    expect(page.locator(".plan")).to_contain_text("Paused")
    page.get_by_role("link", name="Cancel").click()
    shows(page, ["back-1"])
    expect(page).to_have_url(re.compile("q=back-1"))


def test_an_event_that_is_refused_stays_as_it_was_typed(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}/bulk?action=sendEvent&all=1&q=order-waiting")
    page.get_by_label("Event type").fill("bad type!")
    page.get_by_label("Payload as JSON").fill('{"typed": 1}')
    page.get_by_role("button", name="Send event to 1").click()

    expect(page.locator(".problem")).to_contain_text("invalid_event_type")
    expect(page.get_by_label("Payload as JSON")).to_have_value('{"typed": 1}')
    assert "typed" not in page.url


def test_nothing_can_be_done_to_many_until_some_are_chosen(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=orders")
    expect(page.locator("#picked")).not_to_be_visible()

    page.locator("#rows tr").first.hover()
    page.locator("#rows input[name='key']").first.check()
    expect(page.locator("#picked")).to_contain_text("1 selected")
    page.keyboard.press("Escape")
    expect(page.locator("#picked")).not_to_be_visible()


def test_without_scripts_a_plan_for_nothing_says_so(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=orders&q=order-", scripts=False)
    page.get_by_role("button", name="Pause").click()

    expect(page.get_by_role("alert")).to_contain_text("No instances selected")
    page.get_by_role("link", name="Back").click()
    expect(page.locator("#q")).to_have_value("order-")


def test_a_status_that_was_typed_goes_with_its_text(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?q=status:errored")
    page.get_by_role("link", name="Remove status:errored").click()

    expect(page.locator(".counts [aria-current]")).to_contain_text("All")
    assert "errored" not in page.url


def test_what_an_action_does_not_apply_to_is_said(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=orders&q=order-")
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("button", name="Terminate 1").click()

    expect(page.get_by_role("alertdialog")).to_contain_text("Terminate 1 instance? 1 skipped: already finished.")
    expect(page.locator("tr", has_text="order-declined")).to_contain_text("Skipped: already finished")


def test_a_row_that_new_ones_push_off_the_page_is_not_called_deleted(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=quick")
    expect(page.locator("#live")).to_have_text("Live")
    page.mouse.wheel(0, 600)
    page.wait_for_function("() => window.scrollY > 100")
    before = rows(page)

    for n in range(3):
        shop.create("quick", f"quick-pushing-{n}", {})
        expect(page.locator("#fresh")).to_contain_text(f"Show {n + 1} new")

    assert rows(page) == before
    expect(page.locator("#rows .gone")).to_have_count(0)
    expect(page.locator("#rows")).not_to_contain_text("Deleted")


def test_a_row_that_was_deleted_says_so_where_it_stands(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=quick")
    expect(page.locator("#live")).to_have_text("Live")
    page.locator("#rows tr").nth(3).hover()
    deleted = rows(page)[5]

    row = page.locator("#rows tr", has=page.get_by_text(deleted, exact=True))
    page.request.post(f"{shop.instance_url('quick', deleted)}/do/delete", form={"sure": "yes"})

    expect(row).to_contain_text("Deleted")
    expect(page.locator("#rows .gone")).to_have_count(1)


def test_a_row_has_the_action_that_fits_its_state(shop: Running, open_page: Open) -> None:
    shop.create("orders", "row-asleep", {})
    shop.idle()
    page = open_page(f"{shop.base}?q=row-asleep")
    page.locator("#rows tr").hover()
    page.get_by_role("button", name="Skip sleep").click()

    expect(page.locator("#rows tr")).to_contain_text("Waiting for event approval")


def test_more_actions_of_a_row_are_those_of_the_selection(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=orders&q=order-")
    page.locator("#rows tr", has_text="order-waiting").hover()
    page.get_by_role("button", name="More actions for order-waiting").click()

    expect(page.locator("#picked")).to_contain_text("1 selected")
    expect(page.locator("#picked").get_by_role("button", name="Terminate 1")).to_be_visible()


def test_the_list_is_grouped_by_error(shop: Running, open_page: Open) -> None:
    page = open_page(shop.base)
    page.locator("details[data-key='group'] summary").click()
    page.get_by_role("link", name="Error", exact=True).click()
    page.get_by_role("link", name="CardDeclined: card bad was declined").click()

    shows(page, ["order-declined"])
