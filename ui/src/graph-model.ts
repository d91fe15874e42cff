// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The visible part of a graph, and its keyboard navigation. All of it is pure.
import type { Graph, Node } from "./documents";

export interface Look { x: number; y: number; zoom: number }
export interface Size { width: number; height: number }

export const leastZoom = 0.15;
export const mostZoom = 2.5;
const margin = 12;

/** fit centres the whole graph, never larger than its natural size. */
export function fit(graph: Size, box: Size): Look {
  if (graph.width <= 0 || graph.height <= 0 || box.width <= 0 || box.height <= 0) return { x: 0, y: 0, zoom: 1 };
  const room = { width: box.width - 2 * margin, height: box.height - 2 * margin };
  const zoom = Math.max(leastZoom, Math.min(1, room.width / graph.width, room.height / graph.height));
  return { zoom, x: (box.width - graph.width * zoom) / 2, y: (box.height - graph.height * zoom) / 2 };
}

/** zoomAt zooms by a factor and keeps the given point of the box in place. */
export function zoomAt(look: Look, factor: number, x: number, y: number): Look {
  const zoom = Math.min(mostZoom, Math.max(leastZoom, look.zoom * factor));
  const by = zoom / look.zoom;
  return { zoom, x: x - (x - look.x) * by, y: y - (y - look.y) * by };
}

/** reveal moves the view so that a node is inside the box. */
export function reveal(look: Look, node: Node, box: Size): Look {
  const left = node.x * look.zoom + look.x;
  const top = node.y * look.zoom + look.y;
  const right = left + node.width * look.zoom;
  const bottom = top + node.height * look.zoom;
  const dx = left < margin ? margin - left : right > box.width - margin ? box.width - margin - right : 0;
  const dy = top < margin ? margin - top : bottom > box.height - margin ? box.height - margin - bottom : 0;
  return dx === 0 && dy === 0 ? look : { ...look, x: look.x + dx, y: look.y + dy };
}

export type Direction = "left" | "right" | "up" | "down";

/** neighbour returns where an arrow key leads: left and right along values, up and down to the nearest node of the column. */
export function neighbour(graph: Graph, id: string, direction: Direction): string | undefined {
  const node = graph.nodes.find((each) => each.id === id);
  if (!node) return graph.nodes.find((each) => !each.group)?.id;
  const plain = graph.nodes.filter((each) => !each.group && each.id !== id);
  if (direction === "left" || direction === "right") {
    const along = new Set(graph.edges.flatMap((edge) =>
      direction === "right" && edge.from === id ? [edge.to] : direction === "left" && edge.to === id ? [edge.from] : []));
    return nearest(node, plain.filter((each) => along.has(each.id)));
  }
  const below = direction === "down" ? 1 : -1;
  return nearest(node, plain.filter((each) => Math.abs(each.x - node.x) < node.width / 2 && (each.y - node.y) * below > 0));
}

function nearest(from: Node, nodes: Node[]): string | undefined {
  const away = (node: Node) => Math.hypot(node.x - from.x, node.y - from.y);
  return [...nodes].sort((a, b) => away(a) - away(b))[0]?.id;
}
