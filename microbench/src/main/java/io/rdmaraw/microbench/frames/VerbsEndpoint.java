package io.rdmaraw.microbench.frames;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.ReceiveWr;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.objects.Wc;

/**
 * A queue pair with its memory and work requests, driven directly by verbs calls. It is the unmeasured side of a bench
 * and must be faster than the measured side. Used by one thread.
 */
final class VerbsEndpoint implements AutoCloseable {
    static final int BURST = 64;
    private static final int QUEUE = 1024;
    private static final int SLOT_BYTES = 2048;
    private static final int SIGNAL_ID = -1;

    private final VerbsContext context;
    private final ProtectionDomain domain;
    private final CompletionQueue completions;
    private final QueuePair queuePair;
    private final PageMemory memory;
    private final MemoryRegion region;
    private final Flow flow;
    private final int frameBytes;
    private final long sendSlots;
    private final long sendList;
    private final long receiveList;
    private final long receiveSges;
    private final long badRequest;
    private final long workCompletions;

    /**
     * Opens a queue pair with a flow rule.
     *
     * @param receives rule for the frames to receive
     * @param frame    content of the frames that {@link #send} transmits
     */
    VerbsEndpoint(String device, FlowSpec receives, byte[] frame) {
        context = VerbsDevices.open(device);
        domain = context.allocateProtectionDomain();
        completions = context.createCompletionQueue(2 * QUEUE, null, 0);
        queuePair = domain.createQueuePair(QueuePairOptions.builder().completionQueue(completions).maxSendWr(QUEUE)
                .maxReceiveWr(QUEUE).maxSendSge(1).maxReceiveSge(1).build());
        long slotsBytes = (long) (QUEUE + BURST) * SLOT_BYTES;
        long sendBytes = (long) BURST * (SendWr.SIZE_BYTES + Sge.SIZE_BYTES);
        long receiveBytes = (long) BURST * (ReceiveWr.SIZE_BYTES + Sge.SIZE_BYTES);
        memory = PageMemory.map(slotsBytes + sendBytes + receiveBytes + BURST * (long) Wc.SIZE_BYTES + Long.BYTES);
        region = domain.registerMemory(memory.address(), memory.lengthBytes(), VerbsContext.ACCESS_LOCAL_WRITE);
        frameBytes = frame.length;
        sendSlots = memory.address() + (long) QUEUE * SLOT_BYTES;
        sendList = memory.address() + slotsBytes;
        receiveList = sendList + sendBytes;
        receiveSges = receiveList + (long) BURST * ReceiveWr.SIZE_BYTES;
        workCompletions = receiveList + receiveBytes;
        badRequest = workCompletions + BURST * (long) Wc.SIZE_BYTES;
        queuePair.toInit(context.ownPort());
        queuePair.toReadyToReceive();
        queuePair.toReadyToSend();
        flow = queuePair.createFlow(receives);
        fillSendList(frame);
        fillReceiveQueue();
    }

    private void fillSendList(byte[] frame) {
        long sges = sendList + (long) BURST * SendWr.SIZE_BYTES;
        for (int i = 0; i < BURST; i++) {
            long slot = sendSlots + (long) i * SLOT_BYTES;
            NativeMemory.segment(slot, frame.length).copyFrom(java.lang.foreign.MemorySegment.ofArray(frame));
            long sge = sges + (long) i * Sge.SIZE_BYTES;
            Sge.addr(sge, slot);
            Sge.length(sge, frameBytes);
            Sge.lkey(sge, region.lkey());
            long request = sendRequest(i);
            NativeMemory.fill(request, SendWr.SIZE_BYTES, (byte) 0);
            SendWr.wrId(request, SIGNAL_ID);
            SendWr.sgList(request, sge);
            SendWr.numSge(request, 1);
            SendWr.opcode(request, SendWr.OPCODE_SEND);
            SendWr.next(request, i + 1 < BURST ? sendRequest(i + 1) : 0);
        }
    }

    private long sendRequest(int index) {
        return sendList + (long) index * SendWr.SIZE_BYTES;
    }

    private void fillReceiveQueue() {
        for (int i = 0; i < BURST; i++) {
            long sge = receiveSges + (long) i * Sge.SIZE_BYTES;
            Sge.length(sge, SLOT_BYTES);
            Sge.lkey(sge, region.lkey());
            long request = receiveRequest(i);
            NativeMemory.fill(request, ReceiveWr.SIZE_BYTES, (byte) 0);
            ReceiveWr.sgList(request, sge);
            ReceiveWr.numSge(request, 1);
        }
        for (int slot = 0; slot < QUEUE; slot += BURST) {
            for (int i = 0; i < BURST; i++) {
                prepareReceive(i, memory.address() + (long) (slot + i) * SLOT_BYTES);
            }
            postReceives(BURST);
        }
    }

    private long receiveRequest(int index) {
        return receiveList + (long) index * ReceiveWr.SIZE_BYTES;
    }

    private void prepareReceive(int index, long slot) {
        ReceiveWr.wrId(receiveRequest(index), slot);
        ReceiveWr.next(receiveRequest(index), receiveRequest(index + 1));
        Sge.addr(receiveSges + (long) index * Sge.SIZE_BYTES, slot);
    }

    private void postReceives(int count) {
        ReceiveWr.next(receiveRequest(count - 1), 0);
        check(queuePair.postReceive(receiveList, badRequest), "ibv_post_recv");
    }

    /**
     * Sends the frame the given number of times with one call. Only the last send is signalled.
     *
     * @param count number of frames, at most {@link #BURST}
     */
    void send(int count) {
        long last = sendRequest(count - 1);
        SendWr.next(last, 0);
        SendWr.sendFlags(last, SendWr.FLAG_SIGNALED);
        check(queuePair.postSend(sendList, badRequest), "ibv_post_send");
        SendWr.sendFlags(last, 0);
        if (count < BURST) {
            SendWr.next(last, sendRequest(count));
        }
    }

    /** Polls completions, posts the received slots again, and returns the number of received frames. */
    int collect() {
        int count = completions.poll(BURST, workCompletions);
        int received = 0;
        for (int i = 0; i < count; i++) {
            long completion = workCompletions + (long) i * Wc.SIZE_BYTES;
            check(Wc.status(completion), "a completion");
            if ((Wc.opcode(completion) & Wc.OPCODE_RECV) != 0) {
                prepareReceive(received++, Wc.wrId(completion));
            }
        }
        if (received > 0) {
            postReceives(received);
        }
        return received;
    }

    private static void check(int status, String what) {
        if (status != 0) {
            throw new IllegalStateException(what + " failed with " + status);
        }
    }

    @Override
    public void close() {
        flow.close();
        queuePair.close();
        completions.close();
        region.close();
        domain.close();
        context.close();
        memory.close();
    }
}
