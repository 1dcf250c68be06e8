package io.rdmaraw.microbench.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A chart of horizontal stacked bars, as an SVG picture. */
final class StackedBars implements Chart {
    private static final int WIDE = 760;
    private static final int NARROW = 480;
    private static final int MIN_LEFT = 90;
    private static final double LETTER = 6.5;
    private static final String OURS = "rdma-raw";
    private static final int OTHERS_COLOUR = 7;
    private static final int RIGHT = 70;
    private static final int TOP = 52;
    /** Height of the legend, which only bars with several parts have. */
    private static final int LEGEND = 22;
    private static final int BAR = 20;
    private static final int STEP = 30;

    private record Bar(String label, List<Double> parts) {
    }

    private final String title;
    private final String unit;
    private final List<String> partNames;
    private final List<Bar> bars = new ArrayList<>();

    StackedBars(String title, String unit, List<String> partNames) {
        this.title = title;
        this.unit = unit;
        this.partNames = partNames;
    }

    /**
     * Adds a bar unless a bar with the same label exists. Rows that differ only in their reference have equal values.
     */
    void add(String label, List<Double> parts) {
        if (bars.stream().noneMatch(bar -> bar.label().equals(label))) {
            bars.add(new Bar(label, parts));
        }
    }

    @Override
    public boolean isWorthDrawing() {
        return partNames.size() > 1 ? !bars.isEmpty() : bars.size() > 2;
    }

    /** Returns false for bars with one part each, which need half of the width of the page. */
    @Override
    public boolean isWide() {
        return partNames.size() > 1;
    }

    @Override
    public String svg() {
        int width = isWide() ? WIDE : NARROW;
        int top = isWide() ? TOP : TOP - LEGEND;
        int left = (int) Math.max(MIN_LEFT, 12 + LETTER * bars.stream().mapToInt(bar -> bar.label().length()).max()
                .orElse(0));
        int height = top + STEP * bars.size() + 8;
        Axis axis = Axis.of(bars.stream().map(bar -> bar.parts().stream().mapToDouble(Double::doubleValue).sum())
                .toList(), left, width - RIGHT, false);
        StringBuilder svg = new StringBuilder("<svg viewBox=\"0 0 " + width + ' ' + height + "\" role=\"img\"><title>"
                + Html.escape(title) + "</title>");
        LineChart.text(svg, 0, 18, "start", "t", title + ", " + unit);
        double legend = left;
        // A single part needs no legend.
        for (int part = 0; partNames.size() > 1 && part < partNames.size(); part++) {
            svg.append(String.format(Locale.ROOT, "<rect class=\"b c%d\" x=\"%.1f\" y=\"30\" width=\"11\""
                    + " height=\"11\"/>", part, legend));
            LineChart.text(svg, legend + 16, 40, "start", "a", partNames.get(part));
            legend += 26 + 7.2 * partNames.get(part).length();
        }
        for (int i = 0; i < bars.size(); i++) {
            draw(svg, bars.get(i), axis, top + STEP * i);
        }
        return svg.append("</svg>").toString();
    }

    /** Returns the colour of a part. If bars have one part each, those of this project are highlighted. */
    private int colour(Bar bar, int part) {
        return partNames.size() > 1 || bar.label().startsWith(OURS) ? part : OTHERS_COLOUR;
    }

    private void draw(StringBuilder svg, Bar bar, Axis axis, int y) {
        LineChart.text(svg, axis.from() - 10, y + 15, "end", "a", bar.label());
        double sum = 0;
        for (int part = 0; part < bar.parts().size(); part++) {
            double from = axis.place(sum);
            sum += Math.max(0, bar.parts().get(part));
            svg.append(String.format(Locale.ROOT, "<rect class=\"b c%d\" x=\"%.1f\" y=\"%d\" width=\"%.1f\""
                    + " height=\"%d\"><title>%s: %s</title></rect>",
                    colour(bar, part), from, y, Math.max(0, axis.place(sum) - from), BAR,
                    Html.escape(partNames.get(part)), Html.number(bar.parts().get(part))));
        }
        LineChart.text(svg, axis.place(sum) + 8, y + 15, "start", "a", Html.number(sum));
    }
}
