package io.rdmaraw.tools.perf;

import io.rdmaraw.tools.run.Counter;
import java.util.function.BooleanSupplier;

/** The server side of {@code bw}: counts received frames. Runs on one thread; read the counts after it has ended. */
final class BandwidthReceiver implements PerfEndpoint.FrameSink {
    private final PerfEndpoint endpoint;
    private final int stampOffset;
    private final int frameBytes;
    private final long endAfter;
    private final PeakMeter peak = new PeakMeter();
    private final FrameNumbers numbers = new FrameNumbers();
    private final Counter arrived = new Counter();
    private long frames;
    private long firstNanos;
    private long lastNanos;
    private final IdleEnd idleEnd = new IdleEnd();
    private volatile boolean ending;

    /**
     * Creates the receiving side.
     *
     * @param frameBytes length of each frame, for the report
     * @param endAfter   number of frames after which the run ends; 0 to end when no frame has arrived for a second
     */
    BandwidthReceiver(PerfEndpoint endpoint, int stampOffset, int frameBytes, long endAfter) {
        this.endpoint = endpoint;
        this.stampOffset = stampOffset;
        this.frameBytes = frameBytes;
        this.endAfter = endAfter;
    }

    BandwidthSample run(BooleanSupplier keepRunning) {
        while (keepRunning.getAsBoolean() && !isComplete()) {
            long before = frames;
            int received = endpoint.pollReceives(this);
            if (received == 0) {
                endpoint.idle(Long.MAX_VALUE);
            } else {
                long now = System.nanoTime();
                arrived.add(received);
                endpoint.busy();
                count(before, now);
            }
        }
        double seconds = (lastNanos - firstNanos) / 1e9;
        return new BandwidthSample("server", frameBytes, frames, seconds,
                peak.peakPerSecond(seconds == 0 ? 0 : frames / seconds), numbers.lost());
    }

    /** Returns the number of received frames, including those of the warm-up. Thread-safe. */
    long arrived() {
        return arrived.get();
    }

    /** Announces that the sender has ended, which shortens the wait for frames in flight. Thread-safe. */
    void expectEnd() {
        ending = true;
    }

    /** Reads the clock after the announcement. An earlier time would shorten the wait that the announcement starts. */
    private boolean isComplete() {
        boolean announced = ending;
        return endAfter > 0 && frames >= endAfter || idleEnd.isOver(System.nanoTime(), announced);
    }

    private void count(long before, long now) {
        if (frames > before) {
            if (before == 0) {
                firstNanos = now;
                peak.start(now, frames);
            }
            lastNanos = now;
            idleEnd.received(now);
            peak.update(now, frames);
        }
    }

    @Override
    public void frame(long address, int lengthBytes) {
        if (stampOffset == Stamp.NO_OFFSET) {
            frames++;
            numbers.add(Stamp.NONE);
            return;
        }
        long stamp = Stamp.read(address + stampOffset);
        if (!Stamp.isWarmUp(stamp)) {
            frames++;
            numbers.add(stamp);
        }
    }
}
