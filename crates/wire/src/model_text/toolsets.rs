//! What the members of Anthropic's toolsets do, as descriptions of functions.

/// The description of a member; of an unknown one nothing is said.
pub(crate) fn toolset_member(toolset: &str, member: &str) -> &'static str {
    let members: &[(&str, &str)] = match toolset {
        "computer" => &COMPUTER,
        "browser" => &BROWSER,
        _ => &[],
    };
    let found = members.iter().find(|(name, _)| *name == member);
    found.map_or("", |(_, text)| text)
}

const COMPUTER: [(&str, &str); 17] = [
    (
        "screenshot",
        "Takes a screenshot of the computer's screen. Take one first, and another after each \
         action to see its effect.",
    ),
    (
        "left_click",
        "Clicks the left mouse button at [x, y], or at the cursor. Coordinates are in pixels of \
         the screenshot, from the upper left corner. `text` is a key to hold meanwhile.",
    ),
    (
        "right_click",
        "Clicks the right mouse button at [x, y], or at the cursor. `text` is a key to hold \
         meanwhile.",
    ),
    (
        "middle_click",
        "Clicks the middle mouse button at [x, y], or at the cursor. `text` is a key to hold \
         meanwhile.",
    ),
    (
        "double_click",
        "Double-clicks at [x, y], or at the cursor. `text` is a key to hold meanwhile.",
    ),
    (
        "triple_click",
        "Triple-clicks at [x, y], or at the cursor. `text` is a key to hold meanwhile.",
    ),
    (
        "left_click_drag",
        "Drags with the left mouse button from `start_coordinate` to `coordinate`. `text` is a \
         key to hold meanwhile.",
    ),
    (
        "left_mouse_down",
        "Presses the left mouse button at the cursor and holds it.",
    ),
    ("left_mouse_up", "Releases the left mouse button."),
    (
        "mouse_move",
        "Moves the cursor to [x, y] without a click, only to hover.",
    ),
    ("cursor_position", "Returns the cursor's position."),
    (
        "scroll",
        "Scrolls at [x, y], or at the cursor, by `scroll_amount` steps of the wheel. `text` is a \
         key to hold meanwhile.",
    ),
    ("type", "Types a text on the keyboard."),
    (
        "key",
        "Presses a key or a combination, such as \"Return\" or \"ctrl+s\", `repeat` times.",
    ),
    (
        "hold_key",
        "Holds a key or a combination for `duration` seconds.",
    ),
    ("wait", "Waits for `duration` seconds."),
    (
        "zoom",
        "Takes an enlarged screenshot of the region [x0, y0, x1, y1], in pixels of the whole \
         screenshot.",
    ),
];

const BROWSER: [(&str, &str); 31] = [
    (
        "navigate",
        "Opens a URL in the browser; \"back\", \"forward\" and \"reload\" move in the history. \
         All browser functions use the active tab, unless `tab_id` names another.",
    ),
    (
        "screenshot",
        "Takes a screenshot of the page's visible part.",
    ),
    (
        "zoom",
        "Takes an enlarged screenshot of the region [x0, y0, x1, y1], in pixels of the whole \
         screenshot.",
    ),
    (
        "left_click",
        "Clicks at a point (`type` \"coordinate\" with `x` and `y`, in pixels of the screenshot) \
         or on an element (`type` \"ref\" with a `ref` from read_page or find). `modifiers` are \
         keys to hold, such as \"ctrl+shift\".",
    ),
    (
        "right_click",
        "Clicks the right mouse button at a point or on an element.",
    ),
    (
        "middle_click",
        "Clicks the middle mouse button at a point or on an element.",
    ),
    ("double_click", "Double-clicks at a point or on an element."),
    (
        "triple_click",
        "Triple-clicks at a point or on an element, which selects a line or a paragraph.",
    ),
    (
        "hover",
        "Moves the cursor to a point or an element without a click.",
    ),
    (
        "left_click_drag",
        "Drags with the left mouse button from the point `from` to the point `target`.",
    ),
    (
        "left_mouse_down",
        "Presses the left mouse button at a point and holds it.",
    ),
    (
        "left_mouse_up",
        "Releases the left mouse button at a point.",
    ),
    ("mouse_move", "Moves the cursor to a point without a click."),
    (
        "scroll",
        "Scrolls at a point by `scroll_amount` steps of the wheel: 1 to 10, 3 if not given.",
    ),
    ("scroll_to", "Scrolls an element into view."),
    ("type", "Types a text where the focus is."),
    (
        "key",
        "Presses keys: \"ctrl+a\" together, \"Tab Tab Return\" one after the other, `repeat` \
         times.",
    ),
    (
        "hold_key",
        "Holds a key or a combination for `duration` seconds, at most 30.",
    ),
    (
        "form_input",
        "Sets the value of a form's element: true or false for a checkbox, the option for a list.",
    ),
    (
        "read_page",
        "Returns the page, or what is below the element `ref`, as a tree of elements with \
         references such as ref_7. `filter` is \"interactive\" for those that can be operated, \
         \"all\" for those out of view too. `depth` limits the tree.",
    ),
    (
        "find",
        "Finds elements by a description, such as \"search bar\", and returns references.",
    ),
    ("get_page_text", "Returns the text of the page."),
    ("wait", "Waits for `duration` seconds, at most 30."),
    (
        "file_upload",
        "Sets the files of a file input, by their `paths` or `document_ids`.",
    ),
    ("read_console", "Returns what is new on the tab's console."),
    ("read_network", "Returns the tab's new network requests."),
    (
        "javascript_exec",
        "Runs JavaScript in the page and returns the value of the last expression. Write no \
         `return`.",
    ),
    ("new_tab", "Opens an empty tab and returns its `tab_id`."),
    (
        "list_tabs",
        "Lists the open tabs with `tab_id`, title and URL.",
    ),
    ("switch_tab", "Makes a tab the active one."),
    ("close_tab", "Closes a tab."),
];
