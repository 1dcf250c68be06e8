package io.rdmaraw.tools.page;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Horizontal bars, each of some parts that add up, as an SVG picture. */
final class StackedBars {
    private static final int WIDTH = 760;
    private static final int LEFT = 230;
    private static final int RIGHT = 70;
    private static final int TOP = 52;
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

    void add(String label, List<Double> parts) {
        bars.add(new Bar(label, parts));
    }

    boolean isWorthDrawing() {
        return partNames.size() > 1 ? !bars.isEmpty() : bars.size() > 2;
    }

    String svg() {
        int height = TOP + STEP * bars.size() + 8;
        Axis axis = Axis.of(bars.stream().map(bar -> bar.parts().stream().mapToDouble(Double::doubleValue).sum())
                .toList(), LEFT, WIDTH - RIGHT, false);
        StringBuilder svg = new StringBuilder("<svg viewBox=\"0 0 " + WIDTH + ' ' + height + "\" role=\"img\"><title>"
                + Html.escape(title) + "</title>");
        LineChart.text(svg, 0, 18, "start", "t", title + ", " + unit);
        double legend = LEFT;
        // What there is one of needs no legend.
        for (int part = 0; partNames.size() > 1 && part < partNames.size(); part++) {
            svg.append(String.format(Locale.ROOT, "<rect class=\"b c%d\" x=\"%.1f\" y=\"30\" width=\"11\""
                    + " height=\"11\"/>", part, legend));
            LineChart.text(svg, legend + 16, 40, "start", "a", partNames.get(part));
            legend += 26 + 7.2 * partNames.get(part).length();
        }
        for (int i = 0; i < bars.size(); i++) {
            draw(svg, bars.get(i), axis, TOP + STEP * i);
        }
        return svg.append("</svg>").toString();
    }

    private void draw(StringBuilder svg, Bar bar, Axis axis, int y) {
        LineChart.text(svg, LEFT - 10, y + 15, "end", "a", bar.label());
        double sum = 0;
        for (int part = 0; part < bar.parts().size(); part++) {
            double from = axis.place(sum);
            sum += Math.max(0, bar.parts().get(part));
            svg.append(String.format(Locale.ROOT, "<rect class=\"b c%d\" x=\"%.1f\" y=\"%d\" width=\"%.1f\""
                    + " height=\"%d\">"
                    + "<title>%s: %s</title></rect>", part, from, y, Math.max(0, axis.place(sum) - from), BAR,
                    Html.escape(partNames.get(part)), Html.number(bar.parts().get(part))));
        }
        LineChart.text(svg, axis.place(sum) + 8, y + 15, "start", "a", Html.number(sum));
    }
}
