// Package graph draws pictures of a program: its servers, roles and values as a
// graph (DOT, Mermaid, or an SVG of its own), and a predicted run as a timeline.
// It decides nothing; what is drawn was found by the analysis.
package graph
