package io.rdmaraw.capture;

import io.rdmaraw.loop.LoopTasks;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/** A place at which frames can be captured: the queue of one loop on one device port. Thread-safe. */
public final class CapturePoint implements AutoCloseable {
    private static final List<CapturePoint> OPEN = new CopyOnWriteArrayList<>();

    private final String deviceName;
    private final int portNumber;
    private final String loopName;
    private final Executor loop;
    /** Null after the queue was closed. Used on the loop. */
    private Consumer<FrameTap> setTapOrNull;
    /** The tap that the queue should have, or null. */
    private volatile FrameTap wantedTapOrNull;
    private volatile boolean closed;

    private CapturePoint(String deviceName, int portNumber, String loopName, Executor loop,
                         Consumer<FrameTap> setTap) {
        this.deviceName = deviceName;
        this.portNumber = portNumber;
        this.loopName = loopName;
        this.loop = loop;
        setTapOrNull = setTap;
    }

    /**
     * Registers the queue of the calling thread, which is the loop's. A running capture includes it. If the capture
     * cannot, the queue is registered all the same.
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

    /** Returns whether the queue was closed. Its tap then has received all frames. */
    boolean isClosed() {
        return closed;
    }

    /**
     * Sets or removes the tap on the loop. If the loop has no room for the task, this happens later. Tasks may then
     * run in another order, so each task sets the tap of the latest call.
     *
     * @param done runs afterwards, and also if the loop has terminated
     */
    void setTap(FrameTap tapOrNull, Runnable done) {
        wantedTapOrNull = tapOrNull;
        LoopTasks.executeOrElse(loop, () -> {
            if (setTapOrNull != null) {
                setTapOrNull.accept(wantedTapOrNull);
            }
            done.run();
        }, done);
    }

    @Override
    public String toString() {
        return "the queue of loop " + loopName + " on " + deviceName + " port " + portNumber;
    }

    /** Unregisters the queue and removes its tap. Called on the loop. Frames captured so far can still be read. */
    @Override
    public void close() {
        OPEN.remove(this);
        if (setTapOrNull != null) {
            setTapOrNull.accept(null);
            setTapOrNull = null;
        }
        closed = true;
    }
}
