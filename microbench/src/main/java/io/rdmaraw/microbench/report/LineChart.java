package io.rdmaraw.microbench.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;

/** A line chart as an SVG picture. The points are evenly spaced on the horizontal axis, regardless of their numbers. */
final class LineChart implements Chart {
    private static final int WIDTH = 760;
    private static final int HEIGHT = 300;
    private static final int LEFT = 70;
    private static final int RIGHT = 240;
    private static final int TOP = 34;
    private static final int BOTTOM = 46;
    static final int COLOURS = 8;

    /**
     * A point with its spread.
     *
     * @param x       position in the order of the points
     * @param label   text below the axis
     * @param least   smallest value; equal to {@code median} if there is no spread
     * @param largest largest value; equal to {@code median} if there is no spread
     */
    record Point(double x, String label, double least, double median, double largest) {
    }

    private final String title;
    private final String horizontal;
    private final String unit;
    private final boolean logarithmic;
    private final Map<String, List<Point>> lines = new LinkedHashMap<>();

    LineChart(String title, String horizontal, String unit, boolean logarithmic) {
        this.title = title;
        this.horizontal = horizontal;
        this.unit = unit;
        this.logarithmic = logarithmic;
    }

    /**
     * Adds a point unless the line already has a point at its position. Rows that differ only in their reference have
     * equal values.
     */
    void add(String line, Point point) {
        List<Point> points = lines.computeIfAbsent(line, key -> new ArrayList<>());
        if (points.stream().noneMatch(other -> other.x() == point.x())) {
            points.add(point);
        }
    }

    @Override
    public boolean isWorthDrawing() {
        return lines.values().stream().anyMatch(points -> points.stream().mapToDouble(Point::x).distinct().count() > 1);
    }

    @Override
    public boolean isWide() {
        return true;
    }

    @Override
    public String svg() {
        Map<Double, String> labels = new LinkedHashMap<>();
        TreeSet<Double> places = new TreeSet<>();
        List<Double> values = new ArrayList<>();
        lines.values().forEach(points -> points.forEach(point -> {
            places.add(point.x());
            labels.put(point.x(), point.label());
            values.add(point.least());
            values.add(point.largest());
        }));
        List<Double> order = List.copyOf(places);
        Axis vertical = Axis.of(values, HEIGHT - BOTTOM, TOP, logarithmic);
        StringBuilder svg = new StringBuilder("<svg viewBox=\"0 0 " + WIDTH + ' ' + HEIGHT
                + "\" role=\"img\"><title>" + Html.escape(title) + "</title>");
        text(svg, LEFT, 18, "start", "t", title + ", " + unit);
        for (double tick : vertical.ticks()) {
            double y = vertical.place(tick);
            svg.append(String.format(Locale.ROOT, "<line class=\"g\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>",
                    LEFT,
                    y, WIDTH - RIGHT, y));
            text(svg, LEFT - 8, y + 4, "end", "a", Html.number(tick));
        }
        for (double x : order) {
            text(svg, at(order, x), HEIGHT - BOTTOM + 18, "middle", "a", labels.get(x));
        }
        text(svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 8, "middle", "a", horizontal);
        int colour = 0;
        double lastLabel = TOP;
        for (Map.Entry<String, List<Point>> line : lines.entrySet()) {
            draw(svg, line.getValue(), order, vertical, colour % COLOURS);
            lastLabel += 16;
            svg.append(String.format(Locale.ROOT, "<circle class=\"p c%d\" cx=\"%d\" cy=\"%.1f\" r=\"4\"/>", colour
                    % COLOURS, WIDTH - RIGHT + 22, lastLabel - 4));
            text(svg, WIDTH - RIGHT + 32, lastLabel, "start", "a", line.getKey());
            colour++;
        }
        return svg.append("</svg>").toString();
    }

    private static double at(List<Double> order, double x) {
        int steps = Math.max(1, order.size() - 1);
        return LEFT + 20 + (WIDTH - RIGHT - LEFT - 40) * (double) order.indexOf(x) / steps;
    }

    private void draw(StringBuilder svg, List<Point> points, List<Double> order, Axis vertical, int colour) {
        StringBuilder path = new StringBuilder();
        for (Point point : points.stream().sorted((a, b) -> Double.compare(a.x(), b.x())).toList()) {
            double x = at(order, point.x());
            path.append(String.format(Locale.ROOT, "%s%.1f %.1f", path.isEmpty() ? "M" : "L", x,
                    vertical.place(point.median())));
            svg.append(String.format(Locale.ROOT, "<line class=\"s c%d\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\""
                    + " y2=\"%.1f\"/><circle class=\"p c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>%s %s: %s (%s to"
                    + " %s)</title></circle>", colour, x, vertical.place(point.least()), x,
                    vertical.place(point.largest()), colour, x, vertical.place(point.median()),
                    Html.escape(horizontal), Html.escape(point.label()), Html.number(point.median()),
                    Html.number(point.least()), Html.number(point.largest())));
        }
        svg.append("<path class=\"l c").append(colour).append("\" d=\"").append(path).append("\"/>");
    }

    static void text(StringBuilder svg, double x, double y, String anchor, String style, String text) {
        svg.append(String.format(Locale.ROOT, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>",
                style, x, y, anchor, Html.escape(text)));
    }
}
