package io.rdmaraw.tools.perf;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.tools.command.ToolException;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.ReceiveWr;
import io.rdmaraw.verbs.objects.VerbsContext;

/**
 * The receive buffers of a queue pair or of an RSS work queue. Each buffer is posted again after its frame has been
 * read. Used by one thread.
 */
final class ReceiveLane implements AutoCloseable {
    private static final int LANE_SHIFT = 32;
    private static final int BATCH = 32;

    /** {@code ibv_post_recv} or {@code ibv_post_wq_recv}. */
    interface Poster {
        int post(long firstWrAddress, long badWrPointerAddress);
    }

    private final int index;
    private final Poster poster;
    private final PageMemory memory;
    private final MemoryRegion region;
    private final int slotBytes;
    private final long requests;
    private final long sges;
    private final long badRequest;
    private int waiting;

    ReceiveLane(int index, Poster poster, ProtectionDomain domain, int depth, int maxFrameBytes) {
        this.index = index;
        this.poster = poster;
        slotBytes = PerfQueueOptions.slotBytes(maxFrameBytes);
        long slotsBytes = (long) depth * slotBytes;
        memory = PageMemory.map(slotsBytes + (long) BATCH * (ReceiveWr.SIZE_BYTES + Sge.SIZE_BYTES) + Long.BYTES);
        region = domain.registerMemory(memory.address(), memory.lengthBytes(), VerbsContext.ACCESS_LOCAL_WRITE);
        requests = memory.address() + slotsBytes;
        sges = requests + (long) BATCH * ReceiveWr.SIZE_BYTES;
        badRequest = sges + (long) BATCH * Sge.SIZE_BYTES;
        for (int i = 0; i < BATCH; i++) {
            long sge = sges + (long) i * Sge.SIZE_BYTES;
            Sge.length(sge, slotBytes);
            Sge.lkey(sge, region.lkey());
            NativeMemory.fill(request(i), ReceiveWr.SIZE_BYTES, (byte) 0);
            ReceiveWr.sgList(request(i), sge);
            ReceiveWr.numSge(request(i), 1);
        }
        for (int slot = 0; slot < depth; slot++) {
            release(slot);
        }
        post();
    }

    private long request(int place) {
        return requests + (long) place * ReceiveWr.SIZE_BYTES;
    }

    static int laneOf(long wrId) {
        return (int) (wrId >>> LANE_SHIFT);
    }

    /** Returns the address of the received frame. */
    long frameAddress(long wrId) {
        return memory.address() + (wrId & 0xffff_ffffL) * slotBytes;
    }

    /** Releases the buffer of a frame. It is posted when a batch is full, or by {@link #post()}. */
    void release(long wrId) {
        long request = request(waiting);
        ReceiveWr.wrId(request, (long) index << LANE_SHIFT | (int) wrId);
        ReceiveWr.next(request, request + ReceiveWr.SIZE_BYTES);
        Sge.addr(sges + (long) waiting * Sge.SIZE_BYTES, frameAddress(wrId));
        if (++waiting == BATCH) {
            post();
        }
    }

    /** Posts the released buffers. */
    void post() {
        if (waiting == 0) {
            return;
        }
        ReceiveWr.next(request(waiting - 1), 0);
        int errno = poster.post(requests, badRequest);
        if (errno != 0) {
            throw new ToolException("the device takes no more receive buffers: " + Errno.describe(errno));
        }
        waiting = 0;
    }

    @Override
    public void close() {
        region.close();
        memory.close();
    }
}
