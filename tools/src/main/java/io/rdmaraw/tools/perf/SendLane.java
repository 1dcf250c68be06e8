package io.rdmaraw.tools.perf;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.VerbsContext;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The send buffers of a queue pair: prepared frames in registered memory, posted in turn. A buffer is reused after its
 * send has completed. Used by one thread.
 */
final class SendLane implements AutoCloseable {
    private static final int LANE_SHIFT = 48;
    private static final long SEQUENCE_MASK = (1L << LANE_SHIFT) - 1;

    private final int index;
    private final QueuePair queuePair;
    private final PerfQueueOptions options;
    private final PageMemory memory;
    private final MemoryRegion region;
    private final int frameBytes;
    private final int stampOffset;
    private final int slotBytes;
    private final int slots;
    private final long requests;
    private final long sges;
    private final long badRequest;
    private long posted;
    private long completed;
    private int sinceSignal;

    SendLane(int index, QueuePair queuePair, ProtectionDomain domain, PerfQueueOptions options, List<byte[]> frames,
            int stampOffset) {
        this.index = index;
        this.queuePair = queuePair;
        this.options = options;
        this.stampOffset = stampOffset;
        frameBytes = frames.getFirst().length;
        slotBytes = PerfQueueOptions.slotBytes(frameBytes);
        // A multiple of the number of frames, and at least one slot for each outstanding send.
        slots = frames.size() * Math.ceilDiv(options.sendDepth(), frames.size());
        long slotsBytes = (long) slots * slotBytes;
        long requestBytes = (long) options.postList() * SendWr.SIZE_BYTES;
        memory = PageMemory.map(slotsBytes + requestBytes + (long) options.postList() * Sge.SIZE_BYTES + Long.BYTES);
        region = domain.registerMemory(memory.address(), memory.lengthBytes(), VerbsContext.ACCESS_LOCAL_WRITE);
        requests = memory.address() + slotsBytes;
        sges = requests + requestBytes;
        badRequest = sges + (long) options.postList() * Sge.SIZE_BYTES;
        for (int i = 0; i < slots; i++) {
            NativeMemory.segment(slotAddress(i), frameBytes).copyFrom(MemorySegment.ofArray(frames.get(i
                    % frames.size())));
        }
        for (int i = 0; i < options.postList(); i++) {
            prepareRequest(i);
        }
    }

    private long slotAddress(int slot) {
        return memory.address() + (long) slot * slotBytes;
    }

    private long request(int place) {
        return requests + (long) place * SendWr.SIZE_BYTES;
    }

    private long sge(int place) {
        return sges + (long) place * Sge.SIZE_BYTES;
    }

    private void prepareRequest(int place) {
        long request = request(place);
        NativeMemory.fill(request, SendWr.SIZE_BYTES, (byte) 0);
        Sge.length(sge(place), frameBytes);
        Sge.lkey(sge(place), region.lkey());
        SendWr.sgList(request, sge(place));
        SendWr.numSge(request, 1);
        SendWr.opcode(request, SendWr.OPCODE_SEND);
    }

    /** Returns how many frames can be posted now. */
    int room() {
        return options.sendDepth() - outstanding();
    }

    int outstanding() {
        return (int) (posted - completed);
    }

    /** Sets the rate limit in the device, in kilobits per second. */
    void limitRate(int kilobitsPerSecond) {
        queuePair.rateLimit(kilobitsPerSecond);
    }

    /** Returns whether the last posted frames are unsignalled, so that a later signalled send must complete them. */
    boolean hasUnsignalled() {
        return sinceSignal > 0;
    }

    /**
     * Posts frames with one doorbell.
     *
     * @param count       number of frames, at most {@link #room()} and the length of the post list
     * @param firstNumber number of the first frame; the next ones count up
     * @param flush       whether to signal the last frame, so that all of them complete
     */
    void send(int count, int firstNumber, boolean flush) {
        for (int i = 0; i < count; i++) {
            prepare(i, firstNumber + i, flush && i + 1 == count);
        }
        SendWr.next(request(count - 1), 0);
        int errno = queuePair.postSend(requests, badRequest);
        if (errno != 0) {
            throw new ToolException("the device refuses to send: " + Errno.describe(errno));
        }
    }

    private void prepare(int place, int number, boolean mustSignal) {
        long request = request(place);
        long slot = slotAddress((int) (posted % slots));
        if (stampOffset != Stamp.NO_OFFSET) {
            Stamp.write(slot + stampOffset, number);
        }
        Sge.addr(sge(place), slot);
        SendWr.wrId(request, (long) index << LANE_SHIFT | posted);
        SendWr.next(request, request + SendWr.SIZE_BYTES);
        posted++;
        int flags = frameBytes <= options.inlineBytes() ? SendWr.FLAG_INLINE : 0;
        // A full ring needs a signalled request; without one, it would never be released.
        if (++sinceSignal >= options.signalInterval() || mustSignal || room() == 0) {
            sinceSignal = 0;
            flags |= SendWr.FLAG_SIGNALED;
        }
        SendWr.sendFlags(request, flags);
    }

    /** Records the completion of a request and thereby of all earlier ones. */
    void complete(long wrId) {
        completed = Math.max(completed, (wrId & SEQUENCE_MASK) + 1);
    }

    static int laneOf(long wrId) {
        return (int) (wrId >>> LANE_SHIFT);
    }

    /** Returns the number of frames that the device has sent. */
    long completed() {
        return completed;
    }

    /** Releases the memory. The queue pair must be closed first, because the device reads the memory until then. */
    @Override
    public void close() {
        region.close();
        memory.close();
    }
}
