package io.rdmaraw.microbench.report;

/** A picture of figures. */
interface Chart {
    /** Returns the picture as an SVG element. */
    String svg();

    /** Returns whether the picture shows more than one bar for each of a few things. */
    boolean isWorthDrawing();

    /** Returns whether the picture needs the full width of the page. */
    boolean isWide();
}
