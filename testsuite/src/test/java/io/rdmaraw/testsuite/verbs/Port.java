package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.ReceiveWr;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.objects.Wc;
import io.rdmaraw.verbs.objects.WorkQueue;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * An open device with a protection domain, registered memory divided into slots, and one completion queue. Not
 * thread-safe.
 */
final class Port implements AutoCloseable {
    static final int SLOT_BYTES = 16384;
    static final int SLOTS = 1024;
    private static final int CQ_ENTRIES = 4096;
    private static final int MAX_POLL = 64;
    private static final int MAX_SGE = 16;
    /** Time limit for anything in flight. A slower device is broken. */
    private static final long DEADLINE_NANOS = 20_000_000_000L;

    final VerbsContext context;
    final ProtectionDomain domain;
    final CompletionChannel channel;
    final CompletionQueue completionQueue;
    final MemoryRegion memory;
    private final long slab;
    private final long scratch;
    private int nextSlot;

    /** A copy of a work completion. */
    record Completion(long wrId, int status, int opcode, int byteLength, int queuePairNumber, int flags) {
    }

    Port(String deviceName) {
        context = VerbsDevices.open(deviceName);
        domain = context.allocateProtectionDomain();
        channel = context.createCompletionChannel();
        completionQueue = context.createCompletionQueue(CQ_ENTRIES, channel, 0);
        slab = Libc.mmap(0, (long) SLOTS * SLOT_BYTES, Libc.PROT_READ | Libc.PROT_WRITE,
                Libc.MAP_PRIVATE | Libc.MAP_ANONYMOUS, -1, 0);
        memory = domain.registerMemory(slab, (long) SLOTS * SLOT_BYTES, VerbsContext.ACCESS_LOCAL_WRITE);
        scratch = Libc.allocateZeroed(MAX_POLL * Wc.SIZE_BYTES + SendWr.SIZE_BYTES + MAX_SGE * Sge.SIZE_BYTES
                + Long.BYTES);
    }

    QueuePair queuePair(UnaryOperator<QueuePairOptions.Builder> options) {
        return domain.createQueuePair(options.apply(QueuePairOptions.builder().completionQueue(completionQueue)
                .maxSendWr(128).maxReceiveWr(128).maxSendSge(4).maxReceiveSge(4)).build());
    }

    /** Returns a queue pair in state RTS. */
    QueuePair readyQueuePair() {
        return ready(queuePair(o -> o));
    }

    static QueuePair ready(QueuePair queuePair) {
        queuePair.toInit(queuePair.port());
        queuePair.toReadyToReceive();
        queuePair.toReadyToSend();
        return queuePair;
    }

    /** Returns the address of the next slot. Requests use this address as their wr_id. */
    long slot() {
        return slab + (long) (nextSlot++ % SLOTS) * SLOT_BYTES;
    }

    /** Posts receives of one whole slot each. The wr_id is the slot's address. */
    void receive(QueuePair queuePair, int count) {
        for (int i = 0; i < count; i++) {
            long slot = slot();
            assertEquals(0, postReceive(queuePair, slot, new long[] {slot, SLOT_BYTES, memory.lkey()}));
        }
    }

    void receive(WorkQueue queue, int count) {
        for (int i = 0; i < count; i++) {
            long slot = slot();
            long wr = receiveWr(slot, new long[] {slot, SLOT_BYTES, memory.lkey()});
            assertEquals(0, queue.postReceive(wr, badWr()));
        }
    }

    /** Posts one receive. Each SGE is address, length, lkey. Returns 0 or the error number. */
    int postReceive(QueuePair queuePair, long wrId, long[]... sges) {
        return queuePair.postReceive(receiveWr(wrId, sges), badWr());
    }

    private long receiveWr(long wrId, long[]... sges) {
        long wr = scratch + MAX_POLL * Wc.SIZE_BYTES;
        ReceiveWr.wrId(wr, wrId);
        ReceiveWr.next(wr, 0);
        ReceiveWr.sgList(wr, sgeList(sges));
        ReceiveWr.numSge(wr, sges.length);
        return wr;
    }

    /** Posts one send. Each SGE is address, length, lkey. Returns 0 or the error number. */
    int postSend(QueuePair queuePair, long wrId, int flags, long[]... sges) {
        long wr = scratch + MAX_POLL * Wc.SIZE_BYTES;
        NativeMemory.fill(wr, SendWr.SIZE_BYTES, (byte) 0);
        SendWr.wrId(wr, wrId);
        SendWr.sgList(wr, sgeList(sges));
        SendWr.numSge(wr, sges.length);
        SendWr.opcode(wr, SendWr.OPCODE_SEND);
        SendWr.sendFlags(wr, flags);
        return queuePair.postSend(wr, badWr());
    }

    private long sgeList(long[]... sges) {
        long list = scratch + MAX_POLL * Wc.SIZE_BYTES + SendWr.SIZE_BYTES;
        for (int i = 0; i < sges.length; i++) {
            Sge.addr(list + (long) i * Sge.SIZE_BYTES, sges[i][0]);
            Sge.length(list + (long) i * Sge.SIZE_BYTES, (int) sges[i][1]);
            Sge.lkey(list + (long) i * Sge.SIZE_BYTES, (int) sges[i][2]);
        }
        return list;
    }

    long badWr() {
        return scratch + MAX_POLL * Wc.SIZE_BYTES + SendWr.SIZE_BYTES + MAX_SGE * Sge.SIZE_BYTES;
    }

    /** Sends a frame, signalled, and waits for its completion. */
    void send(QueuePair queuePair, byte[] frame) {
        long slot = write(slot(), frame);
        assertEquals(0, postSend(queuePair, slot, SendWr.FLAG_SIGNALED, new long[] {slot, frame.length,
                memory.lkey()}));
        Completion done = awaitSend(slot);
        assertEquals(WcStatus.SUCCESS, done.status(), () -> "send: " + WcStatus.name(done.status()));
    }

    /** Waits for the completion of a send. Keeps receive completions that arrive before it for {@link #await}. */
    private Completion awaitSend(long wrId) {
        long deadline = System.nanoTime() + DEADLINE_NANOS;
        while (System.nanoTime() - deadline < 0) {
            for (Completion completion : poll()) {
                if (completion.wrId() == wrId) {
                    return completion;
                }
                kept.add(completion);
            }
            Thread.onSpinWait();
        }
        return fail("the send did not complete");
    }

    private final List<Completion> kept = new ArrayList<>();

    /** Waits for exactly this many completions. */
    List<Completion> await(int count) {
        return await(completionQueue, count);
    }

    List<Completion> await(CompletionQueue queue, int count) {
        return await(queue, count, completion -> true);
    }

    /**
     * Waits for exactly this many frames of the tests. Frames of kernels, which a rule for all frames also receives,
     * are ignored.
     */
    List<Completion> awaitOwn(int count) {
        return await(completionQueue, count, completion -> Frames.isOwn(bytes(completion)));
    }

    private List<Completion> await(CompletionQueue queue, int count, Predicate<Completion> wanted) {
        List<Completion> all = new ArrayList<>();
        if (queue == completionQueue) {
            kept.stream().filter(wanted).forEach(all::add);
            kept.clear();
        }
        long deadline = System.nanoTime() + DEADLINE_NANOS;
        while (all.size() < count && System.nanoTime() - deadline < 0) {
            poll(queue).stream().filter(wanted).forEach(all::add);
            Thread.onSpinWait();
        }
        assertEquals(count, all.size(), () -> "completions: " + all);
        return all;
    }

    /** Waits for one completion. */
    Completion await() {
        return await(1).getFirst();
    }

    /** Waits for received frames and returns their bytes, in order. */
    List<byte[]> awaitFrames(int count) {
        return await(count).stream().map(this::bytes).toList();
    }

    List<byte[]> awaitOwnFrames(int count) {
        return awaitOwn(count).stream().map(this::bytes).toList();
    }

    byte[] bytes(Completion completion) {
        assertEquals(WcStatus.SUCCESS, completion.status(), () -> WcStatus.name(completion.status()));
        assertEquals(Wc.OPCODE_RECV, completion.opcode());
        return read(completion.wrId(), completion.byteLength());
    }

    /** Returns the available completions without waiting. */
    List<Completion> poll() {
        return poll(completionQueue);
    }

    List<Completion> poll(CompletionQueue queue) {
        List<Completion> completions = new ArrayList<>();
        int count = queue.poll(MAX_POLL, scratch);
        for (int i = 0; i < count; i++) {
            long wc = scratch + (long) i * Wc.SIZE_BYTES;
            completions.add(new Completion(Wc.wrId(wc), Wc.status(wc), Wc.opcode(wc), Wc.byteLen(wc), Wc.qpNum(wc),
                    Wc.wcFlags(wc)));
        }
        return completions;
    }

    static long write(long address, byte[] bytes) {
        for (int i = 0; i < bytes.length; i++) {
            NativeMemory.putByte(address + i, bytes[i]);
        }
        return address;
    }

    static byte[] read(long address, int lengthBytes) {
        byte[] bytes = new byte[lengthBytes];
        for (int i = 0; i < lengthBytes; i++) {
            bytes[i] = NativeMemory.getByte(address + i);
        }
        return bytes;
    }

    @Override
    public void close() {
        context.close();
        Libc.munmap(slab, (long) SLOTS * SLOT_BYTES);
        Libc.free(scratch);
    }
}
