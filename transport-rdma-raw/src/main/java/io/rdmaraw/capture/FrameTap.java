package io.rdmaraw.capture;

import io.rdmaraw.ffi.NativeMemory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Captures the frames of one queue. The loop passes bursts of frames, piece by piece; matching frames are copied to a
 * ring. A frame that does not fit is counted as dropped from the capture. The traffic is never affected: if capturing
 * fails, the caller calls {@link #fail}, and the tap captures no more frames.
 */
public final class FrameTap {
    /** Maximum number of bytes of a frame in pieces that a filter sees. No frame is longer. */
    private static final int MAX_FILTERED_BYTES = 1 << 17;
    /**
     * Maximum time for which the frames of a burst wait for the end of their processing. A handler may block the loop
     * for longer; then they are read without their reasons. The frames of all other
     * loops wait too, and their rings must not overflow.
     */
    private static final long MAX_BURST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int IDLE = 0;
    /** A frame is being captured. */
    private static final int BUSY = 1;
    /** Frames of a burst are captured, and the loop processes them. */
    private static final int IN_BURST = 2;
    private static final VarHandle STATE;
    private static final VarHandle TIME;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            STATE = lookup.findVarHandle(FrameTap.class, "state", int.class);
            TIME = lookup.findVarHandle(FrameTap.class, "timeNanos", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private FrameRing ring;
    /** Set when {@link #ring} was replaced by an empty one. */
    private boolean ringReleased;
    private final BpfProgram filterOrNull;
    private final int snapBytes;
    private final long clockOffsetNanos;
    /** The first bytes of a frame in pieces, for the filter. */
    private final MemorySegment scratch;
    private long[] pieceAddresses = new long[32];
    private int[] pieceBytes = new int[32];
    private int pieces;
    private int frameBytes;
    private ChannelIds channelIds = (address, lengthBytes, sent) -> null;
    private int state;
    /** Time up to which the ring has all frames. It never decreases. */
    private long timeNanos;
    private long frameNanos;
    private long maxBurstNanos = MAX_BURST_NANOS;
    /** Frames that the filter has seen. Written by the loop; other threads may read slightly outdated values. */
    private long seenFrames;
    private long droppedFrames;
    /** The error that has ended the capture of this queue, or null. Written by the loop. */
    private volatile Throwable failureOrNull;

    /**
     * Creates a tap.
     *
     * @param clockOffsetNanos difference between the time since 1970 and {@link System#nanoTime()}
     */
    FrameTap(FrameRing ring, BpfProgram filterOrNull, int snapBytes, long clockOffsetNanos) {
        this.ring = ring;
        this.filterOrNull = filterOrNull;
        this.snapBytes = snapBytes;
        this.clockOffsetNanos = clockOffsetNanos;
        scratch = filterOrNull == null ? null : Arena.ofAuto()
                .allocate(Math.min(MAX_FILTERED_BYTES, Math.max(1, filterOrNull.neededBytes())));
    }

    /** Finds the channel of a frame. */
    @FunctionalInterface
    public interface ChannelIds {
        /**
         * Returns the ID of the frame's channel, or null if there is none.
         *
         * @param address     address of the first bytes of the frame
         * @param lengthBytes number of bytes at the address
         */
        String find(long address, int lengthBytes, boolean sent);
    }

    /** Sets how the channels of frames are found. */
    public void setChannelIds(ChannelIds ids) {
        channelIds = ids;
    }

    /**
     * Begins to capture a frame. The caller must call {@link #end} after it, even if an exception is thrown.
     *
     * @return false if the tap has failed; then there is nothing to end
     */
    public boolean begin() {
        if (failureOrNull != null) {
            return false;
        }
        if (state == IN_BURST) {
            // A reply to a frame of the burst.
            frameNanos = System.nanoTime() + clockOffsetNanos;
        } else {
            mark(BUSY, 0);
        }
        return true;
    }

    /**
     * Begins a burst of received frames. The caller must call {@link #endBurst} when it has processed them. Until then
     * the reader leaves them in the ring, so that {@link #setReason} reaches it. The caller must also call {@link #end}
     * when it has added the frames.
     *
     * @return false if the tap has failed; then there is nothing to end
     */
    public boolean beginBurst() {
        if (failureOrNull != null) {
            return false;
        }
        mark(IN_BURST, 1);
        return true;
    }

    /**
     * Sets the state and the time of the next frames.
     *
     * @param heldNanos 1 if the reader must leave these frames in the ring, else 0
     */
    private void mark(int newState, int heldNanos) {
        // Other threads must be able to see the mark before this thread reads the clock. A reader reads the clock
        // first and the mark second. If it finds no mark, this thread reads the clock later than the reader did, so no
        // frame of this burst is older than the reader's time. A store that is not volatile may become visible late.
        STATE.setVolatile(this, newState);
        frameNanos = System.nanoTime() + clockOffsetNanos;
        // Releases the reasons of earlier bursts.
        TIME.setRelease(this, frameNanos - heldNanos);
    }

    /** Ends what {@link #begin} has begun, and discards the pieces of a frame that was not ended. */
    public void end() {
        pieces = 0;
        frameBytes = 0;
        if (state == BUSY) {
            STATE.setRelease(this, IDLE);
        }
    }

    /** Ends a burst. */
    public void endBurst() {
        STATE.setRelease(this, IDLE);
    }

    /** Ends the capture of this queue because of an error. The reader of the capture logs it. */
    public void fail(Throwable error) {
        failureOrNull = error;
    }

    /** Adds a piece of the next frame. It must stay readable until {@link #endFrame}. */
    public void add(long address, int lengthBytes) {
        if (pieces == pieceAddresses.length) {
            pieceAddresses = Arrays.copyOf(pieceAddresses, 2 * pieces);
            pieceBytes = Arrays.copyOf(pieceBytes, 2 * pieces);
        }
        pieceAddresses[pieces] = address;
        pieceBytes[pieces++] = lengthBytes;
        frameBytes += lengthBytes;
    }

    /**
     * Captures the frame if it matches.
     *
     * @return the position of the frame for {@link #setReason}, or -1 if it was not captured
     */
    public long endFrame(boolean sent) {
        seenFrames++;
        long position = -1;
        if (filterOrNull == null || matches()) {
            int capturedBytes = Math.min(frameBytes, snapBytes);
            int index = ring.reserve(capturedBytes);
            if (index < 0) {
                droppedFrames++;
            } else {
                copyTo(ring.array(), index, capturedBytes);
                String channel = channelIds.find(pieceAddresses[0], pieceBytes[0], sent);
                position = ring.publish(frameNanos, capturedBytes, frameBytes, sent, channel == null ? "" : channel);
            }
        }
        pieces = 0;
        frameBytes = 0;
        return position;
    }

    /**
     * Records why a frame of the burst was dropped.
     *
     * @param position result of {@link #endFrame}
     */
    public void setReason(long position, String reason) {
        ring.setReason(position, reason);
    }

    /** Records the channel that has received a frame of the burst, unless the frame has one. */
    public void setChannel(long position, String id) {
        ring.setChannel(position, id);
    }

    private boolean matches() {
        if (pieces == 1) {
            return filterOrNull.matches(pieceAddresses[0], frameBytes, frameBytes);
        }
        int available = (int) Math.min(frameBytes, scratch.byteSize());
        int copied = 0;
        for (int i = 0; i < pieces && copied < available; i++) {
            int length = Math.min(pieceBytes[i], available - copied);
            NativeMemory.copy(pieceAddresses[i], scratch.address() + copied, length);
            copied += length;
        }
        return filterOrNull.matches(scratch.address(), available, frameBytes);
    }

    private void copyTo(byte[] target, int index, int capturedBytes) {
        int copied = 0;
        for (int i = 0; i < pieces && copied < capturedBytes; i++) {
            int length = Math.min(pieceBytes[i], capturedBytes - copied);
            NativeMemory.getBytes(pieceAddresses[i], target, index + copied, length);
            copied += length;
        }
    }

    FrameRing ring() {
        return ring;
    }

    /** Releases the ring. Called by the reader after the queue was closed and all frames were removed. */
    void releaseRing() {
        ring = new FrameRing(1, 1);
        ringReleased = true;
    }

    /** Returns whether the ring was not released. */
    boolean hasRing() {
        return !ringReleased;
    }

    Throwable failureOrNull() {
        return failureOrNull;
    }

    long seenFrames() {
        return seenFrames;
    }

    long droppedFrames() {
        return droppedFrames;
    }

    /**
     * Returns the time up to which the ring has all frames. Called by the reader.
     *
     * @param nowNanos the present time, which the caller has read before a full fence
     */
    long safeUntilNanos(long nowNanos) {
        int seenState = (int) STATE.getVolatile(this);
        if (seenState == IDLE) {
            return nowNanos;
        }
        long untilNanos = (long) TIME.getAcquire(this);
        return seenState == IN_BURST ? Math.max(untilNanos, nowNanos - maxBurstNanos) : untilNanos;
    }

    /** Sets the maximum time for which the frames of a burst wait. Only tests call it. */
    void setMaxBurstNanos(long nanos) {
        maxBurstNanos = nanos;
    }
}
