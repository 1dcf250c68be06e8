package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.ordering.SteppedDevice;
import io.rdmaraw.ordering.WeakMemory;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.ReceiveWr;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.objects.Wc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;

/**
 * Drives the rings of one queue pair on an emulated device, which runs between any two stores that become
 * visible. A second queue pair, driven through libmlx5, receives the frames that the first sends. The frames
 * that the first receives come from the wire.
 */
public final class RingScenario implements AutoCloseable {
    private static final byte[] OURS = HexFormat.of().parseHex("020000007801");
    private static final byte[] SINK = HexFormat.of().parseHex("020000007802");
    private static final byte[] NOBODY = HexFormat.of().parseHex("020000007803");
    private static final int REQUESTS = 16;
    private static final int ROUNDS = 25;
    private static final int LAPS_FRAMES = 70_000;
    private static final int SLOT_BYTES = 256;
    private static final int MAX_HEADER_BYTES = 94;
    private static final int TCP_HEADER_BYTES = 54;
    private static final int MAX_ELEMENTS = 4;
    private static final int MAX_CARRIED_BLOCKS = 4;
    private static final int SINK_RECEIVES = 64;
    private static final int RECEIVE_SLOTS = 3 * REQUESTS;
    private static final int SEND_SLOTS = 64;
    private static final int MEMORY_BYTES = (RECEIVE_SLOTS + SEND_SLOTS + SINK_RECEIVES) * SLOT_BYTES;

    private final Random random;
    private final Arena arena = Arena.ofConfined();
    private final SteppedDevice device = new SteppedDevice();
    private final VerbsContext context = VerbsDevices.open("mlx5_0");
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionChannel channel = context.createCompletionChannel();
    private final CompletionQueue receiveCompletionQueue = context.createCompletionQueue(REQUESTS - 1, channel, 0);
    private final CompletionQueue sendCompletionQueue = context.createCompletionQueue(REQUESTS - 1, null, 0);
    private final CompletionQueue sinkCompletions = context.createCompletionQueue(2 * SINK_RECEIVES, null, 0);
    private final PageMemory memory = PageMemory.map(MEMORY_BYTES);
    private final MemoryRegion region = domain.registerMemory(memory.address(), MEMORY_BYTES,
            VerbsContext.ACCESS_LOCAL_WRITE);
    private final QueuePair queuePair = open(receiveCompletionQueue, sendCompletionQueue, OURS);
    private final QueuePair sink = open(sinkCompletions, sinkCompletions, SINK);
    private final MemorySegment incoming = arena.allocate(SLOT_BYTES);
    private final MemorySegment requests = arena.allocate(4096, 64);
    private final long scratch = requests.address();
    private final CompletionRing receiveRing = Mlx5dv.ring(receiveCompletionQueue);
    private final QueuePairRings rings = Mlx5dv.rings(queuePair);
    private final CompletionRing sendRing = Mlx5dv.ring(sendCompletionQueue);
    private final MemorySegment sessions = arena.allocate(2L * Mlx5CompletionQueue.SCRATCH_BYTES, 64);
    private final Mlx5CompletionQueue receives = new Mlx5CompletionQueue(receiveRing, sessions.address());
    private final Mlx5CompletionQueue sends = new Mlx5CompletionQueue(sendRing,
            sessions.address() + Mlx5CompletionQueue.SCRATCH_BYTES);
    private final Mlx5ReceiveQueue receiveQueue = new Mlx5ReceiveQueue(rings.receive(), SLOT_BYTES, region.lkey());
    private final boolean multiPacket;
    private final Mlx5SendQueue sendQueue;
    private final ArrayDeque<Integer> freeSlots = new ArrayDeque<>();
    private final int[] slotAt = new int[receiveQueue.entries()];
    /** Whether the device computes the checksums of a frame, by frame number; null if the frame has none. */
    private final Boolean[] filled = new Boolean[SEND_SLOTS];
    private final long[] countersBefore = new long[SteppedDevice.EVENTS + 1];
    private int posted;
    private int arrived;
    private int taken;
    private int givenBack;
    private int nextSend;
    private int sunk;

    private RingScenario(long seed) {
        random = new Random(seed);
        multiPacket = (seed & 2) != 0;
        sendQueue = new Mlx5SendQueue(rings, multiPacket, MAX_CARRIED_BLOCKS);
        device.minInline(multiPacket ? 0 : Wqe.ETH_L2_INLINE_BYTES);
        for (int i = 0; i < RECEIVE_SLOTS; i++) {
            freeSlots.add(i);
        }
        for (int i = 0; i < countersBefore.length; i++) {
            countersBefore[i] = device.counter(i);
        }
        for (int i = 0; i < SINK_RECEIVES; i++) {
            postSink(i);
        }
        device.eager(seed % 2 != 0);
        boundMemory();
    }

    /** Returns the first failure with its seed, or null. */
    public static String firstFailure(long first, long seeds) {
        for (long seed = first; seed < first + seeds; seed++) {
            try (RingScenario scenario = new RingScenario(seed)) {
                scenario.run();
            } catch (Exception | AssertionError e) {
                return "seed " + seed + ": " + e.getMessage();
            }
        }
        for (long seed : new long[] {0, 2}) {
            try (RingScenario scenario = new RingScenario(seed)) {
                scenario.runManyLaps();
            } catch (Exception | AssertionError e) {
                return "laps: " + e.getMessage();
            }
        }
        return null;
    }

    private QueuePair open(CompletionQueue receiving, CompletionQueue sending, byte[] mac) {
        QueuePair made = domain.createQueuePair(QueuePairOptions.builder().receiveCompletionQueue(receiving)
                .sendCompletionQueue(sending).maxSendWr(REQUESTS)
                .maxReceiveWr(mac == SINK ? SINK_RECEIVES : REQUESTS).maxSendSge(MAX_ELEMENTS).maxReceiveSge(1)
                .maxTsoHeaderBytes(MAX_HEADER_BYTES).build());
        made.toInit(1);
        made.toReadyToReceive();
        made.toReadyToSend();
        made.createFlow(FlowSpec.builder().destinationMac(mac).allowHostTraffic().build());
        return made;
    }

    private void run() {
        watchMemory();
        WeakMemory.begin(random, this::work);
        for (int round = 0; round < ROUNDS; round++) {
            postReceives(random.nextInt(REQUESTS + 1));
            if (random.nextInt(4) == 0) {
                sendLongBurst();
            } else {
                sendBurst(1 + random.nextInt(4));
            }
            takeReceived(random.nextInt(REQUESTS + 1));
            if (random.nextInt(4) == 0) {
                armAndExpectAnEvent();
            }
        }
        WeakMemory.fullFence();
        while (taken < arrived) {
            int before = taken;
            takeReceived(REQUESTS);
            require(taken > before, arrived - taken + " frames have come in and do not complete");
        }
        WeakMemory.end();
        requireNoErrors();
    }

    /** Restricts the memory that the rings may access. */
    private void boundMemory() {
        for (CompletionRing ring : List.of(receiveRing, sendRing)) {
            WeakMemory.addBounds(ring.buffer(), (long) ring.entries() * ring.entryBytes());
            WeakMemory.addBounds(ring.doorbellRecord(), 2L * Integer.BYTES);
            WeakMemory.addBounds(ring.uarPage(), 64);
        }
        ReceiveQueueRing receive = rings.receive();
        WeakMemory.addBounds(receive.buffer(), (long) receive.entries() * receive.strideBytes());
        WeakMemory.addBounds(rings.sendBuffer(), (long) rings.sendBlocks() * Wqe.BLOCK_BYTES);
        WeakMemory.addBounds(rings.doorbellRecord(), 2L * Integer.BYTES);
        WeakMemory.addBounds(rings.blueFlameRegister(), 2L * rings.blueFlameBytes());
        WeakMemory.addBounds(memory.address(), MEMORY_BYTES);
        WeakMemory.addBounds(scratch, requests.byteSize());
        WeakMemory.addBounds(sessions.address(), sessions.byteSize());
    }

    private void watchMemory() {
        WeakMemory.addIncoming(receiveRing.buffer(), (long) receiveRing.entries() * receiveRing.entryBytes());
        WeakMemory.addIncoming(memory.address(), (long) RECEIVE_SLOTS * SLOT_BYTES);
        WeakMemory.addRegister(rings.blueFlameRegister(), 2L * rings.blueFlameBytes());
        WeakMemory.addRegister(receiveRing.uarPage(), 64);
        WeakMemory.consumerIndexAt(receiveRing.doorbellRecord());
    }

    /** Runs in plain memory until the 16-bit request counter has wrapped. */
    private void runManyLaps() {
        for (int done = 0; done < LAPS_FRAMES; done += REQUESTS) {
            postReceives(REQUESTS);
            while (arrived != posted) {
                frameComesIn();
            }
            takeReceived(REQUESTS);
            require(taken == posted, "received " + taken + " of " + posted);
            for (int i = 0; i < REQUESTS; i++) {
                long frame = writeFrame(sendSlot(), NOBODY, nextSend, 64);
                Sge.write(scratch, frame, 64, region.lkey());
                // Frames with different checksum flags do not share a request, so each occupies a block.
                sendQueue.putGathered(scratch, 1, i % 2 == 0);
                nextSend++;
            }
            finishBurst(-1);
        }
        requireNoErrors();
    }

    // ---- the device ----

    private void work() {
        device.step();
        int given = WeakMemory.visibleInt(receiveRing.doorbellRecord());
        for (; givenBack < given; givenBack++) {
            // The device may overwrite returned entries, but only with the owner bit of the next round.
            long entry = receiveRing.buffer() + (long) (givenBack & receiveRing.entries() - 1)
                    * receiveRing.entryBytes();
            WeakMemory.scribble(entry, receiveRing.entryBytes() - 1);
        }
        if (random.nextInt(6) == 0 && announced() > 0) {
            frameComesIn();
        }
    }

    /** Returns the number of receives that the device knows of. */
    private int announced() {
        return WeakMemory.visibleInt(rings.receive().doorbellRecord()) - arrived & 0xffff;
    }

    private void frameComesIn() {
        byte[] frame = frameOf(OURS, arrived, lengthOf(arrived));
        MemorySegment.copy(frame, 0, incoming, ValueLayout.JAVA_BYTE, 0, frame.length);
        arrived++;
        device.receive(incoming.asSlice(0, frame.length));
    }

    private static int lengthOf(int number) {
        return 60 + Math.floorMod(number * 37, 150);
    }

    /** Every byte depends on the frame number, so that a part of another frame is detected. */
    private static byte[] frameOf(byte[] destination, int number, int lengthBytes) {
        byte[] frame = new byte[lengthBytes];
        System.arraycopy(destination, 0, frame, 0, destination.length);
        System.arraycopy(OURS, 0, frame, 6, OURS.length);
        frame[12] = (byte) 0x88;
        frame[13] = (byte) 0xb5;
        for (int i = 14; i < lengthBytes; i++) {
            frame[i] = (byte) (number * 31 + i * 7);
        }
        return frame;
    }

    // ---- receiving ----

    private void postReceives(int count) {
        int room = Math.min(count, REQUESTS - (posted - taken));
        for (int i = 0; i < room; i++) {
            int slot = freeSlots.removeFirst();
            int place = receiveQueue.put(slotAddress(slot));
            require(place == posted % slotAt.length, "a receive is at place " + place);
            slotAt[place] = slot;
            posted++;
        }
        receiveQueue.ringDoorbell();
    }

    private long slotAddress(int slot) {
        return memory.address() + (long) slot * SLOT_BYTES;
    }

    private void takeReceived(int limit) {
        int before = taken;
        long cqe;
        while (taken - before < limit && (cqe = receives.next()) != 0) {
            require(!Cqe.isError(cqe), "a receive has failed");
            require(Cqe.wqeCounter(cqe) == (taken & 0xffff), "completed receive " + Cqe.wqeCounter(cqe) + ", not "
                    + (taken & 0xffff));
            int slot = slotAt[receiveQueue.ringIndexOf(Cqe.wqeCounter(cqe))];
            byte[] expected = frameOf(OURS, taken, lengthOf(taken));
            require(Cqe.byteCount(cqe) == expected.length, "received " + Cqe.byteCount(cqe) + " bytes, not "
                    + expected.length);
            for (int i = 0; i < expected.length; i += 1 + random.nextInt(60)) {
                require(NativeMemory.getByte(slotAddress(slot) + i) == expected[i], "byte " + i
                        + " of a received frame is wrong");
            }
            freeSlots.addLast(slot);
            taken++;
        }
        if (taken > before) {
            receives.releaseEntries();
        }
    }

    private void armAndExpectAnEvent() {
        WeakMemory.fullFence();
        do {
            takeReceived(REQUESTS);
            postReceives(REQUESTS);
            WeakMemory.fullFence();
        } while (taken < arrived);
        while (channel.pollEvent()) {
            continue;
        }
        receives.arm(receiveCompletionQueue.eventsTaken());
        device.step();
        if (arrived == taken) {
            require(!channel.pollEvent(), "an event, and nothing has come in");
            frameComesIn();
        }
        require(channel.pollEvent(), "no event after arming");
    }

    // ---- sending ----

    private int sendSlot() {
        return RECEIVE_SLOTS + nextSend % SEND_SLOTS;
    }

    private long writeFrame(int slot, byte[] destination, int number, int lengthBytes) {
        return write(slot, frameOf(destination, number, lengthBytes));
    }

    private long write(int slot, byte[] frame) {
        long address = slotAddress(slot);
        for (int i = 0; i < frame.length; i += Long.BYTES) {
            NativeMemory.putLong(address + i, ByteBuffer.wrap(Arrays.copyOfRange(frame, i, i + Long.BYTES))
                    .order(ByteOrder.nativeOrder()).getLong());
        }
        return address;
    }

    private void sendBurst(int count) {
        for (int i = 0; i < count; i++) {
            int lengthBytes = lengthOf(nextSend);
            long frame = writeFrame(sendSlot(), SINK, nextSend, lengthBytes);
            filled[nextSend % SEND_SLOTS] = null;
            switch (random.nextInt(4)) {
                case 0 -> sendQueue.put(frame, lengthBytes, region.lkey());
                case 1 -> sendQueue.putGathered(scratch, elements(frame, 0, lengthBytes), random.nextBoolean());
                case 2 -> putWithChecksums(frame, lengthBytes);
                default -> putTso(frame, lengthBytes);
            }
            nextSend++;
        }
        finishBurst(count);
    }

    /** Sends more frames than fit into one request, but not more than the number of blocks. */
    private void sendLongBurst() {
        int count = 30 + random.nextInt(Math.min(rings.sendBlocks(), SEND_SLOTS) - 29);
        for (int i = 0; i < count; i++) {
            int lengthBytes = lengthOf(nextSend);
            filled[nextSend % SEND_SLOTS] = null;
            sendQueue.put(writeFrame(sendSlot(), SINK, nextSend, lengthBytes), lengthBytes, region.lkey());
            nextSend++;
        }
        finishBurst(count);
    }

    /** Adds a contiguous frame with or without checksum offload. Only frames with the same flag share a request. */
    private void putWithChecksums(long frame, int lengthBytes) {
        writeTcp(lengthBytes);
        boolean fills = random.nextBoolean();
        filled[nextSend % SEND_SLOTS] = fills;
        Sge.write(scratch, frame, lengthBytes, region.lkey());
        sendQueue.putGathered(scratch, 1, fills);
    }

    /** Some elements have the length of inlined headers, and some are empty. */
    private int elements(long address, int from, int lengthBytes) {
        int[] ends = {Math.min(lengthBytes, from + Wqe.ETH_L2_INLINE_BYTES), Math.min(lengthBytes,
            from + Wqe.ETH_L2_INLINE_BYTES + random.nextInt(2) * 20), lengthBytes};
        int begin = from;
        for (int i = 0; i < ends.length; i++) {
            long element = scratch + (long) i * Sge.SIZE_BYTES;
            Sge.write(element, address + begin, ends[i] - begin, region.lkey());
            begin = ends[i];
        }
        return ends.length;
    }

    /** A single segment: the device sends it unchanged, except for the IPv4 and TCP fields that it fills in. */
    private void putTso(long frame, int lengthBytes) {
        writeTcp(lengthBytes);
        filled[nextSend % SEND_SLOTS] = true;
        sendQueue.putTso(frame, TCP_HEADER_BYTES, SLOT_BYTES, scratch,
                elements(frame, TCP_HEADER_BYTES, lengthBytes));
    }

    private void writeTcp(int lengthBytes) {
        byte[] bytes = frameOf(SINK, nextSend, lengthBytes);
        Arrays.fill(bytes, 12, TCP_HEADER_BYTES, (byte) 0);
        bytes[12] = 0x08;
        bytes[14] = 0x45;
        bytes[16] = (byte) (lengthBytes - 14 >> 8);
        bytes[17] = (byte) (lengthBytes - 14);
        bytes[23] = 6;
        bytes[46] = 0x50;
        write(sendSlot(), bytes);
    }

    /**
     * @param sunkFrames number of frames of the burst that the sink receives; -1 to skip the check
     */
    private void finishBurst(int sunkFrames) {
        sendQueue.signalLast();
        sendQueue.ringDoorbell();
        device.step();
        for (int i = 0; i < sunkFrames; i++) {
            expectAtSink();
        }
        int completions = 0;
        while (sends.next() != 0) {
            completions++;
        }
        require(completions == 1, completions + " completions of a burst of sends");
        sends.releaseEntries();
    }

    private void expectAtSink() {
        long wc = scratch + 1024;
        int polled = sinkCompletions.poll(1, wc);
        require(polled == 1, "frame " + sunk + " was not sent when its doorbell had rung");
        require(Wc.status(wc) == WcStatus.SUCCESS, "the sink's receive has failed");
        int slot = (int) Wc.wrId(wc);
        byte[] expected = frameOf(SINK, sunk, lengthOf(sunk));
        int length = Wc.byteLen(wc);
        require(length == expected.length, "sent " + length + " bytes, not " + expected.length);
        byte[] actual = new byte[length];
        memory.view((long) sinkSlot(slot) * SLOT_BYTES, length).get(actual);
        boolean tcp = actual[12] == 0x08;
        int from = tcp ? TCP_HEADER_BYTES : 0;
        require(Arrays.equals(expected, from, length, actual, from, length), "frame " + sunk + " was sent wrong");
        Boolean fills = filled[sunk % SEND_SLOTS];
        require(tcp == (fills != null) && (!tcp || fills == (actual[24] != 0 || actual[25] != 0)),
                "the checksums of frame " + sunk + " are not as they were asked for");
        sunk++;
        postSink(slot);
    }

    private static int sinkSlot(int slot) {
        return RECEIVE_SLOTS + SEND_SLOTS + slot;
    }

    private void postSink(int slot) {
        long request = scratch + 2048;
        requests.asSlice(2048, ReceiveWr.SIZE_BYTES).fill((byte) 0);
        ReceiveWr.wrId(request, slot);
        Sge.write(request + 128, slotAddress(sinkSlot(slot)), SLOT_BYTES, region.lkey());
        ReceiveWr.sgList(request, request + 128);
        ReceiveWr.numSge(request, 1);
        require(sink.postReceive(request, request + 256) == 0, "a receive of the sink's was refused");
    }

    // ---- the end ----

    private void requireNoErrors() {
        for (int which : new int[] {SteppedDevice.SEND_ERRORS, SteppedDevice.RECEIVE_ERRORS, SteppedDevice.NO_RECEIVE,
            SteppedDevice.CQ_OVERRUNS, SteppedDevice.BAD_DOORBELLS, SteppedDevice.STALE_ARMINGS}) {
            require(device.counter(which) == countersBefore[which], "the device has counted errors: " + which);
        }
    }

    private static void require(boolean right, String otherwise) {
        if (!right) {
            throw new AssertionError(otherwise);
        }
    }

    @Override
    public void close() {
        WeakMemory.end();
        sendQueue.close();
        device.close();
        context.close();
        memory.close();
        arena.close();
    }
}
