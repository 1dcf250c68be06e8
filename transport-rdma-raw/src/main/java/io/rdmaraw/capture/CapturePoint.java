package io.rdmaraw.capture;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;

/** A place at which frames can be captured: the queue of one loop on one device port. Thread-safe. */
public final class CapturePoint implements AutoCloseable {
    private static final List<CapturePoint> OPEN = new CopyOnWriteArrayList<>();

    private final String deviceName;
    private final int portNumber;
    private final String loopName;
    private final Executor loop;
    private final Consumer<FrameTap> setTap;

    private CapturePoint(String deviceName, int portNumber, String loopName, Executor loop,
                         Consumer<FrameTap> setTap) {
        this.deviceName = deviceName;
        this.portNumber = portNumber;
        this.loopName = loopName;
        this.loop = loop;
        this.setTap = setTap;
    }

    /**
     * Registers the queue of the calling thread, which is the loop's. A running capture includes it.
     *
     * @param loop   runs tasks on the loop
     * @param setTap receives the tap of a capture, or null at its end. Called on the loop
     */
    public static CapturePoint open(String deviceName, int portNumber, Executor loop, Consumer<FrameTap> setTap) {
        CapturePoint point =
                new CapturePoint(deviceName, portNumber, Thread.currentThread().getName(), loop, setTap);
        OPEN.add(point);
        FrameCapture.onPointOpened(point);
        return point;
    }

    static List<CapturePoint> all() {
        return OPEN;
    }

    String deviceName() {
        return deviceName;
    }

    int portNumber() {
        return portNumber;
    }

    String loopName() {
        return loopName;
    }

    /**
     * Sets or removes the tap on the loop.
     *
     * @param done runs afterwards, and also if the loop has terminated
     */
    void setTap(FrameTap tapOrNull, Runnable done) {
        try {
            loop.execute(() -> {
                setTap.accept(tapOrNull);
                done.run();
            });
        } catch (RejectedExecutionException e) {
            // The loop has terminated, so its queue has no frames any more.
            done.run();
        }
    }

    /** Unregisters the queue. Frames captured so far can still be read. */
    @Override
    public void close() {
        OPEN.remove(this);
    }
}
