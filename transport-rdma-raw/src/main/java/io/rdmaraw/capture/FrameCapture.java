package io.rdmaraw.capture;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The capture of {@code ./rdma-raw dump} in this process, at most one at a time. It has a lease, which each call
 * renews, so that it ends soon after its tool. Thread-safe.
 */
public final class FrameCapture {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(FrameCapture.class);
    private static final AtomicReference<FrameCapture> RUNNING = new AtomicReference<>();
    private static final long LEASE_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** Time for loops to remove their taps. A handler may block a loop for longer. */
    private static final long REMOVAL_MILLIS = 500;
    private static final long NANOS_PER_SECOND = 1_000_000_000L;
    /** Large, so that a busy host needs few exchanges. Readers of the replies accept arrays of 8 MiB. */
    private static final int MAX_REPLY_BYTES = 1 << 22;
    /** Maximum length of a captured frame, below {@link #MAX_REPLY_BYTES}; libpcap's MAXIMUM_SNAPLEN. */
    private static final int MAX_SNAP_BYTES = 262_144;
    private static final int MAX_BUFFER_BYTES = 1 << 28;
    /** Part of the maximum heap that the rings may use. A capture must not exhaust the memory of the process. */
    private static final int HEAP_PART = 8;

    private final long id = System.nanoTime();
    private final long clockOffsetNanos;
    private final long[] filterOrNull;
    private final int snapBytes;
    private final int bufferBytes;
    private final long leaseNanos;
    /** Maximum number of bytes of all rings. */
    private final long maxRingBytes;
    /**
     * The points with a tap each. Guarded by its own monitor and not by the one of this object. A loop that opens a
     * queue acquires the monitor of this list. The monitor of this object is held while a reply is written and while
     * the loops remove their taps, so a loop must not wait for it.
     */
    private final List<TappedPoint> tapped = new ArrayList<>();
    /** The points without a tap, because there was no room for a ring. Guarded by {@link #tapped}. */
    private final List<CapturePoint> skipped = new ArrayList<>();
    /** The taps with a failure that was logged. */
    private final Set<FrameTap> failed = new HashSet<>();
    /** Set when the taps have been or are being removed. Guarded by {@link #tapped}. */
    private boolean stopped;
    private long deadlineNanos;
    private boolean ended;

    private record TappedPoint(CapturePoint point, FrameTap tap) {
    }

    private FrameCapture(long[] filterOrNull, int snapBytes, int bufferBytes, long leaseNanos, long maxRingBytes) {
        this.filterOrNull = filterOrNull;
        this.snapBytes = snapBytes;
        this.bufferBytes = bufferBytes;
        this.leaseNanos = leaseNanos;
        this.maxRingBytes = maxRingBytes;
        Instant now = Instant.now();
        clockOffsetNanos = now.getEpochSecond() * NANOS_PER_SECOND + now.getNano() - System.nanoTime();
        renewLease();
    }

    /**
     * Starts a capture on all loops.
     *
     * @param filter      a program of classic BPF, one instruction per element; empty to capture all frames
     * @param snapBytes   maximum number of bytes per frame
     * @param bufferBytes capacity of each loop's ring
     * @return the ID for the other methods
     * @throws IllegalArgumentException if the filter or a number is invalid
     * @throws IllegalStateException    if there is a capture already, or the rings need too much of the heap
     */
    public static long start(long[] filter, int snapBytes, int bufferBytes) {
        return start(filter, snapBytes, bufferBytes, LEASE_NANOS, Runtime.getRuntime().maxMemory() / HEAP_PART);
    }

    static long start(long[] filter, int snapBytes, int bufferBytes, long leaseNanos, long maxRingBytes) {
        if (snapBytes < 1 || snapBytes > MAX_SNAP_BYTES || bufferBytes < 1 || bufferBytes > MAX_BUFFER_BYTES) {
            throw new IllegalArgumentException("the length of captured frames must be 1 to " + MAX_SNAP_BYTES
                    + ", and the buffer of a loop 1 to " + MAX_BUFFER_BYTES + " bytes");
        }
        if (filter.length > 0) {
            // Only checks the program, since each tap creates its own interpreter.
            new BpfProgram(filter);
        }
        FrameCapture capture = new FrameCapture(filter.length == 0 ? null : filter.clone(), snapBytes, bufferBytes,
                leaseNanos, maxRingBytes);
        if (!capture.hasRoom(CapturePoint.all().size())) {
            throw new IllegalStateException("the buffers of its " + CapturePoint.all().size() + " queues would need"
                    + " more than an eighth of the heap; reduce -B, and -s with it");
        }
        if (!RUNNING.compareAndSet(null, capture)) {
            throw new IllegalStateException("another dump captures from this process; wait for its end. If it was"
                    + " killed, it ends in " + TimeUnit.NANOSECONDS.toSeconds(LEASE_NANOS) + " seconds");
        }
        try {
            Thread.ofPlatform().daemon().name("rdma-raw-capture").start(capture::awaitEnd);
            CapturePoint.all().forEach(capture::tap);
        } catch (RuntimeException | Error e) {
            capture.end();
            throw e;
        }
        return capture.id;
    }

    private boolean hasRoom(long rings) {
        return rings * FrameRing.capacityBytes(bufferBytes, snapBytes) <= maxRingBytes;
    }

    /** Renews the lease of a capture. */
    public static void renew(long id) {
        find(id).renewLease();
    }

    /** Stops a capture. The frames captured so far can still be read. */
    public static void stop(long id) {
        FrameCapture capture = find(id);
        capture.removeTaps();
        capture.renewLease();
    }

    /**
     * Reads captured frames, ordered by time. The reply, in big-endian order, consists of: one byte, 1 if this was the
     * last reply of a stopped capture; the number of queues that are not captured, or no longer; the number of points
     * and of further points, each with its port, its device and its loop; of each point the frames seen by the filter
     * and the frames dropped; the frames, each with its point and direction, captured bytes, length, time, the reason
     * if the transport has dropped it, the ID of its channel, and bytes. Texts have their length before them, in frames
     * as a byte.
     *
     * @param knownPoints number of points in earlier replies
     */
    public static byte[] read(long id, int knownPoints) {
        FrameCapture capture = find(id);
        capture.renewLease();
        return capture.read(knownPoints);
    }

    private static FrameCapture find(long id) {
        FrameCapture capture = RUNNING.get();
        if (capture == null || capture.id != id) {
            throw new IllegalStateException("the capture has ended, because its tool did not read for "
                    + TimeUnit.NANOSECONDS.toSeconds(LEASE_NANOS) + " seconds");
        }
        return capture;
    }

    static boolean isRunning() {
        return RUNNING.get() != null;
    }

    /**
     * Includes a point that was opened during the capture, if possible. Throws nothing, so that the queue opens in any
     * case. Called on its loop.
     */
    static void onPointOpened(CapturePoint point) {
        FrameCapture capture = RUNNING.get();
        if (capture != null) {
            try {
                capture.tap(point);
            } catch (RuntimeException | Error e) {
                capture.skip(point, e.toString());
            }
        }
    }

    private void skip(CapturePoint point, String reason) {
        synchronized (tapped) {
            skipped.add(point);
        }
        LOGGER.warn("a running dump does not capture the frames of {}: {}", point, reason);
    }

    private void tap(CapturePoint point) {
        synchronized (tapped) {
            if (stopped || skipped.contains(point) || tapped.stream().anyMatch(each -> each.point == point)) {
                return;
            }
            if (!hasRoom(1 + tapped.stream().filter(each -> each.tap.hasRing()).count())) {
                skip(point, "the buffers of all queues would need more than an eighth of the heap; reduce -B, and -s"
                        + " with it");
                return;
            }
            FrameTap tap = new FrameTap(new FrameRing(bufferBytes, snapBytes),
                    filterOrNull == null ? null : new BpfProgram(filterOrNull), snapBytes, clockOffsetNanos);
            tapped.add(new TappedPoint(point, tap));
            point.setTap(tap, () -> { });
        }
    }

    private List<TappedPoint> tappedPoints() {
        synchronized (tapped) {
            return List.copyOf(tapped);
        }
    }

    private boolean isStopped() {
        synchronized (tapped) {
            return stopped;
        }
    }

    private synchronized void renewLease() {
        deadlineNanos = System.nanoTime() + leaseNanos;
    }

    private synchronized void awaitEnd() {
        try {
            long remaining = deadlineNanos - System.nanoTime();
            while (!ended && remaining > 0) {
                TimeUnit.NANOSECONDS.timedWait(this, remaining);
                remaining = deadlineNanos - System.nanoTime();
            }
            if (!ended) {
                LOGGER.info("a capture has ended, because its tool does not read");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            end();
        }
    }

    private synchronized void end() {
        if (!ended) {
            ended = true;
            notifyAll();
            removeTaps();
            RUNNING.compareAndSet(this, null);
        }
    }

    /** Removes the taps. A blocked loop removes its tap later. */
    private void removeTaps() {
        CountDownLatch removals;
        synchronized (tapped) {
            if (stopped) {
                return;
            }
            stopped = true;
            removals = new CountDownLatch(tapped.size());
            tapped.forEach(each -> each.point.setTap(null, removals::countDown));
        }
        try {
            removals.await(REMOVAL_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized byte[] read(int knownPoints) {
        releaseUnusedRings();
        List<TappedPoint> points = tappedPoints();
        logFailures(points);
        boolean isStopped = isStopped();
        long untilNanos = isStopped ? Long.MAX_VALUE - 1 : safeUntilNanos(points);
        long occupied = points.stream().mapToLong(each -> each.tap.ring().occupiedBytes()).sum();
        byte[] header = header(points, knownPoints);
        ByteBuffer reply = ByteBuffer.allocate(header.length + (int) Math.min(MAX_REPLY_BYTES, occupied));
        reply.put(header);
        boolean complete = true;
        for (int oldest = oldest(points, untilNanos); oldest >= 0 && complete; oldest = oldest(points, untilNanos)) {
            complete = points.get(oldest).tap.ring().removeTo(reply, oldest);
        }
        if (isStopped && complete) {
            reply.put(0, (byte) 1);
            end();
        }
        byte[] bytes = new byte[reply.position()];
        reply.get(0, bytes);
        return bytes;
    }

    /** Releases the rings of closed queues after all their frames have been read. */
    private void releaseUnusedRings() {
        synchronized (tapped) {
            for (TappedPoint each : tapped) {
                if (each.tap.hasRing() && each.point.isClosed()
                        && each.tap.ring().oldestNanos() == Long.MAX_VALUE) {
                    each.tap.releaseRing();
                    each.point.setTap(null, () -> { });
                }
            }
        }
    }

    /** Logs each failure of a tap once. */
    private void logFailures(List<TappedPoint> points) {
        for (TappedPoint each : points) {
            Throwable failure = each.tap.failureOrNull();
            if (failure != null && failed.add(each.tap)) {
                LOGGER.warn("a running dump captures no more frames of {}, because of an error", each.point, failure);
            }
        }
    }

    /** Returns the number of queues that are not captured, or no longer because of an error. */
    private int uncapturedQueues() {
        synchronized (tapped) {
            return skipped.size() + failed.size();
        }
    }

    /** Returns the time up to which all rings have their frames, so that these can be merged. */
    private long safeUntilNanos(List<TappedPoint> points) {
        long nowNanos = System.nanoTime() + clockOffsetNanos;
        // The clock must be read before the marks of bursts.
        VarHandle.fullFence();
        return points.stream().mapToLong(each -> each.tap.safeUntilNanos(nowNanos)).min().orElse(nowNanos);
    }

    /** Returns the index of the point with the oldest frame, or -1 if none has a frame until a time. */
    private static int oldest(List<TappedPoint> points, long untilNanos) {
        int found = -1;
        long foundNanos = untilNanos;
        for (int i = 0; i < points.size(); i++) {
            long nanos = points.get(i).tap.ring().oldestNanos();
            if (nanos <= foundNanos && (found < 0 || nanos < foundNanos)) {
                found = i;
                foundNanos = nanos;
            }
        }
        return found;
    }

    private byte[] header(List<TappedPoint> points, int knownPoints) {
        int from = Math.clamp(knownPoints, 0, points.size());
        List<byte[]> texts = points.subList(from, points.size()).stream()
                .flatMap(each -> List.of(each.point.deviceName(), each.point.loopName()).stream())
                .map(text -> text.getBytes(StandardCharsets.UTF_8)).toList();
        int textBytes = texts.stream().mapToInt(text -> Integer.BYTES + text.length).sum();
        ByteBuffer header = ByteBuffer.allocate(1 + 3 * Integer.BYTES + Integer.BYTES * (points.size() - from)
                + textBytes + 2 * Long.BYTES * points.size());
        header.put((byte) 0).putInt(uncapturedQueues()).putInt(points.size()).putInt(points.size() - from);
        for (int i = from; i < points.size(); i++) {
            header.putInt(points.get(i).point.portNumber());
            put(header, texts.get(2 * (i - from)));
            put(header, texts.get(2 * (i - from) + 1));
        }
        points.forEach(each -> header.putLong(each.tap.seenFrames()).putLong(each.tap.droppedFrames()));
        return header.array();
    }

    private static void put(ByteBuffer header, byte[] text) {
        header.putInt(text.length).put(text);
    }
}
