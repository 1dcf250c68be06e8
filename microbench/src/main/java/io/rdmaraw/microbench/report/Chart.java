package io.rdmaraw.microbench.report;

/** A chart of measured values. */
interface Chart {
    /** Returns the chart as an SVG element. */
    String svg();

    /** Returns whether the chart has enough data to show more than a table would. */
    boolean isWorthDrawing();

    /** Returns whether the chart needs the full width of the page. */
    boolean isWide();
}
