package io.rdmaraw.tools.page;

/** A picture of figures. */
interface Chart {
    /** As an SVG element. */
    String svg();

    /** Whether there is more to see than a bar for each of a few things. */
    boolean isWorthDrawing();

    /** Whether it wants the width of the page. */
    boolean isWide();
}
