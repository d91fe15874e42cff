// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { render } from "preact";
import { App } from "./app";
import { follow, look } from "./router";
import { showTheme } from "./state";
import { tell } from "./tap";

showTheme();
look();
window.addEventListener("popstate", look);
document.addEventListener("click", follow);
document.addEventListener("click", tell);
render(<App />, document.getElementById("app") as HTMLElement);
