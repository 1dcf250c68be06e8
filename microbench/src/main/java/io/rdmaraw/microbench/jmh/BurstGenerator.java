package io.rdmaraw.microbench.jmh;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.Wc;

/**
 * Sends the same burst of frames repeatedly. One downcall posts the burst and one polls its completion. Nearly all of
 * the measured time is therefore that of the device and the receiver.
 */
final class BurstGenerator implements AutoCloseable {
    private static final int QUEUE_DEPTH = 128;
    private static final int SLOT_BYTES = 2048;

    private final SharedDevice device;
    private final PageMemory memory;
    private final MemoryRegion region;
    private final CompletionQueue completions;
    private final QueuePair queuePair;
    private final long firstWorkRequest;
    private final long badWorkRequest;
    private final long workCompletion;

    BurstGenerator(String deviceName, byte[] frame, int burst) {
        device = SharedDevice.acquire(deviceName);
        VerbsContext context = device.context();
        memory = PageMemory.map(burst * (SLOT_BYTES + SendWr.SIZE_BYTES + Sge.SIZE_BYTES) + 4096L);
        region = device.protectionDomain().registerMemory(memory.address(), memory.lengthBytes(),
                VerbsContext.ACCESS_LOCAL_WRITE);
        completions = context.createCompletionQueue(QUEUE_DEPTH, null, 0);
        queuePair = device.protectionDomain().createQueuePair(QueuePairOptions.builder()
                .completionQueue(completions).maxSendWr(QUEUE_DEPTH).maxReceiveWr(1)
                .maxSendSge(1).maxReceiveSge(1).build());
        queuePair.toInit(context.ownPort());
        queuePair.toReadyToReceive();
        queuePair.toReadyToSend();
        long frames = memory.address();
        firstWorkRequest = frames + (long) burst * SLOT_BYTES;
        long scatterList = firstWorkRequest + (long) burst * SendWr.SIZE_BYTES;
        badWorkRequest = scatterList + (long) burst * Sge.SIZE_BYTES;
        workCompletion = badWorkRequest + 64;
        for (int i = 0; i < burst; i++) {
            for (int b = 0; b < frame.length; b++) {
                NativeMemory.putByte(frames + (long) i * SLOT_BYTES + b, frame[b]);
            }
            long sge = scatterList + (long) i * Sge.SIZE_BYTES;
            Sge.addr(sge, frames + (long) i * SLOT_BYTES);
            Sge.length(sge, frame.length);
            Sge.lkey(sge, region.lkey());
            long wr = firstWorkRequest + (long) i * SendWr.SIZE_BYTES;
            boolean last = i + 1 == burst;
            SendWr.next(wr, last ? 0 : wr + SendWr.SIZE_BYTES);
            SendWr.sgList(wr, sge);
            SendWr.numSge(wr, 1);
            SendWr.opcode(wr, SendWr.OPCODE_SEND);
            SendWr.sendFlags(wr, last ? SendWr.FLAG_SIGNALED : 0);
        }
    }

    /** Sends one burst and waits for its completion. */
    void send() {
        int errno = queuePair.postSend(firstWorkRequest, badWorkRequest);
        if (errno != 0) {
            throw new IllegalStateException("post_send failed with errno " + errno);
        }
        int polled;
        do {
            polled = completions.poll(1, workCompletion);
        } while (polled == 0);
        if (Wc.status(workCompletion) != 0) {
            throw new IllegalStateException("send completed with status " + Wc.status(workCompletion));
        }
    }

    @Override
    public void close() {
        queuePair.close();
        completions.close();
        region.close();
        memory.close();
        device.release();
    }
}
