// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram

// look is the style of a state, in light and dark mode.
type look struct {
	text, fill, line, darkText, darkFill, darkLine string
	dashed                                         bool
	// icon is a path in a square of 16 pixels: outline is stroked, solid is filled.
	outline, solid string
}

const (
	circle  = "M1.75 8a6.25 6.25 0 1 0 12.5 0a6.25 6.25 0 1 0-12.5 0z"
	octagon = "M5.4 1.5h5.2l3.9 3.9v5.2l-3.9 3.9H5.4l-3.9-3.9V5.4z"
)

// plain is the style of a box without a known state.
var plain = look{text: "#5a665f", fill: "#ffffff", line: "#c5ccc5", darkText: "#94a19a", darkFill: "#141a17", darkLine: "#3a4540"}

// stateOrder is the order in which styles are written.
var stateOrder = []string{"not-yet", "works", "done", "failed", "going", "going-failed", "waits", "person", "stopped", "unknown", "ghost"}

var looks = map[string]look{
	"not-yet": idle(true, "M5.5 2.3a6.25 6.25 0 0 1 5 0M13.7 5.5a6.25 6.25 0 0 1 0 5M10.5 13.7a6.25 6.25 0 0 1-5 0M2.3 10.5a6.25 6.25 0 0 1 0-5"),
	"works": {
		text: "#1a5fb8", fill: "#ffffff", line: "#3b7fd6", darkText: "#8cbcff", darkFill: "#141a17", darkLine: "#5b98e6",
		outline: circle, solid: "M8 8V4.4A3.6 3.6 0 0 1 8 11.6z",
	},
	"done": {
		text: "#2a6e48", fill: "#ffffff", line: "#c5ccc5", darkText: "#7fc99c", darkFill: "#141a17", darkLine: "#3a4540",
		outline: circle + "M5.2 8.2l2 2l3.6-4",
	},
	"failed":       bad(octagon + "M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4"),
	"going":        idle(false, circle+"M5 8h6"),
	"going-failed": bad(octagon + "M5 8h6"),
	"waits": {
		text: "#855300", fill: "#fdf5e4", line: "#e5cb96", darkText: "#f0bd62", darkFill: "#261e10", darkLine: "#5a4620",
		outline: "M4 1.75h8M4 14.25h8M5 1.75v2.5l6 7.5v2.5M11 1.75v2.5l-6 7.5v2.5",
	},
	"person": {
		text: "#7a2fa8", fill: "#f8f1fc", line: "#d9bdea", darkText: "#d7a8ff", darkFill: "#241a2d", darkLine: "#573a6e",
		outline: "M8 1l7 7l-7 7l-7-7zM8 4.5v4.5M8 10.8v.4",
	},
	"stopped": idle(false, circle+"M6.3 5.5v5M9.7 5.5v5"),
	// ghost is something that is referenced and does not exist.
	"ghost": {
		text: "#855300", fill: "none", line: "#b77a12", darkText: "#f0bd62", darkFill: "none", darkLine: "#d59d3a", dashed: true,
		outline: circle + "M8 4.5v4.5M8 11v.2",
	},
	"unknown": idle(true, "M4.6 12.5h6.6a2.9 2.9 0 0 0 .5-5.7A3.9 3.9 0 0 0 4.3 7a2.8 2.8 0 0 0 .3 5.5zM2 2l12 12"),
}

func idle(dashed bool, outline string) look {
	l := plain
	l.dashed, l.outline = dashed, outline
	return l
}

func bad(outline string) look {
	return look{
		text: "#b3261e", fill: "#fdf0ee", line: "#c8352c", darkText: "#ff9a8f", darkFill: "#2b1715", darkLine: "#e5604f", outline: outline,
	}
}

// lookOf returns the style of a state.
func lookOf(state string) look {
	if l, known := looks[word(state)]; known {
		return l
	}
	return plain
}
