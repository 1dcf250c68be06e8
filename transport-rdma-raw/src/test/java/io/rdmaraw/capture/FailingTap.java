package io.rdmaraw.capture;

/** Creates a tap that throws an exception at the end of each frame. */
public final class FailingTap {
    private FailingTap() {
    }

    public static FrameTap create() {
        return new FrameTap(null, null, 1, 0);
    }
}
