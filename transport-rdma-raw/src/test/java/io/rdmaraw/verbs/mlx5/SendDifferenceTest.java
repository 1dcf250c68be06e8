package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.Wc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * Sends the same frames through libmlx5 and through our writer, which must produce the same bytes in the send
 * ring and the same doorbell record. The ring of libmlx5 belongs to an emulated device, which sends its content
 * in the meantime; ours is a copy.
 *
 * <p>The bytes between the end of a TSO header and the next unit of 16 bytes are not compared: libmlx5 leaves
 * old data there, which no device reads. TSO headers that wrap around the end of the ring are not compared
 * either: libmlx5 (rdma-core 44 to 65) misplaces the data segments by 32 bytes, and the device reads old data.
 * {@link SendRequestTest} covers our writer in that case.
 */
@Tag("emulated")
class SendDifferenceTest {
    private static final int MTU_FRAME_BYTES = 1514;
    private static final int IPV4_OFFSET = 14;
    private static final int TCP_OFFSET = 34;

    /** Not an opcode of verbs: a send with the frame inside the request. */
    private static final int OPCODE_SEND_INLINE = -1;

    private static EmulatedQueuePair theirs;
    private static boolean multiPacket;
    private static int unsignaled;

    @BeforeContainer
    static void open() {
        theirs = new EmulatedQueuePair();
        multiPacket = Mlx5dv.supportsMultiPacketRequests(theirs.context);
    }

    @AfterContainer
    static void close() {
        theirs.close();
    }

    @Property(tries = 5000)
    void framesOfAnyElements(@ForAll("elements") List<Integer> lengths, @ForAll boolean checksums,
            @ForAll boolean signaled, @ForAll long seed) {
        fillMemory(seed, 0x88b5);
        Case wanted = new Case(SendWr.OPCODE_SEND, checksums, 0, 0, elements(lengths, theirs.memory.address(), seed));
        compare(wanted, signaled);
    }

    @Property(tries = 3000)
    void tsoFrames(@ForAll("elements") List<Integer> lengths,
            @ForAll @IntRange(min = 200, max = 1460) int mssBytes, @ForAll @IntRange(max = 10) int optionWords,
            @ForAll boolean signaled, @ForAll long seed) {
        int headerBytes = 54 + 4 * optionWords;
        leaveRoomAtTheEnd(headerBytes);
        fillMemory(seed, 0x0800);
        long frame = theirs.memory.address();
        // The fields that the device evaluates. The rest remains.
        NativeMemory.fill(frame + IPV4_OFFSET, TCP_OFFSET - IPV4_OFFSET, (byte) 0);
        NativeMemory.putByte(frame + IPV4_OFFSET, (byte) 0x45);
        NativeMemory.putByte(frame + IPV4_OFFSET + 9, (byte) 6);
        NativeMemory.putByte(frame + TCP_OFFSET + 12, (byte) (5 + optionWords << 4));
        Case wanted = new Case(SendWr.OPCODE_TSO, true, headerBytes, Math.min(mssBytes, MTU_FRAME_BYTES - headerBytes),
                elements(lengths, frame + headerBytes, seed));
        compare(wanted, signaled);
    }

    /** A single short frame is copied into its request, which is written to the register. */
    @Property(tries = 2000)
    void shortFramesAlone(@ForAll @IntRange(min = 60, max = EmulatedQueuePair.MAX_INLINE_BYTES) int lengthBytes,
            @ForAll boolean checksums, @ForAll boolean signaled, @ForAll long seed) {
        leaveRoomAtTheEnd(lengthBytes + Wqe.BLOCK_BYTES);
        fillMemory(seed, 0x88b5);
        compare(new Case(OPCODE_SEND_INLINE, checksums, 0, 0, new long[][] {{theirs.memory.address(), lengthBytes}}),
                signaled);
    }

    /** Sends other frames until a TSO header fits before the end of the ring. */
    private static void leaveRoomAtTheEnd(int headerBytes) {
        int needed = (Wqe.CTRL_SIZE_BYTES + Wqe.ETH_INLINE_HDR_START_OFFSET + headerBytes + Wqe.BLOCK_BYTES - 1)
                / Wqe.BLOCK_BYTES;
        int blocks = theirs.rings.sendBlocks();
        fillMemory(0, 0x88b5);
        while (blocks - NetworkOrder.getInt(theirs.rings.doorbellRecord() + 4) % blocks < needed) {
            compare(new Case(SendWr.OPCODE_SEND, false, 0, 0, new long[][] {{theirs.memory.address(), 64}}), false);
        }
    }

    @Provide
    Arbitrary<List<Integer>> elements() {
        return Arbitraries.integers().between(1, 240).list().ofMinSize(1).ofMaxSize(EmulatedQueuePair.MAX_ELEMENTS)
                .filter(list -> list.stream().mapToInt(i -> i).sum() > Wqe.ETH_L2_INLINE_BYTES);
    }

    /** The frame to send. An element consists of address and length. */
    private record Case(int opcode, boolean checksums, int headerBytes, int mssBytes, long[][] elements) {
    }

    /** The destination address matches no rule. */
    private static void fillMemory(long seed, int etherType) {
        Random random = new Random(seed);
        long address = theirs.memory.address();
        for (int i = 0; i < 2 * MTU_FRAME_BYTES; i += Long.BYTES) {
            NativeMemory.putLong(address + i, random.nextLong());
        }
        NativeMemory.putByte(address, (byte) 2);
        NetworkOrder.putU16(address + 12, etherType);
    }

    /** Returns elements that are adjacent or have gaps between them. */
    private static long[][] elements(List<Integer> lengths, long firstAddress, long seed) {
        Random random = new Random(seed);
        long[][] elements = new long[lengths.size()][];
        long address = firstAddress;
        for (int i = 0; i < elements.length; i++) {
            elements[i] = new long[] {address, lengths.get(i)};
            address += lengths.get(i) + random.nextInt(2) * random.nextInt(100);
        }
        return elements;
    }

    private static void compare(Case wanted, boolean mayBeUnsignaled) {
        // A send queue without completions accepts no more requests.
        boolean signaled = !mayBeUnsignaled || unsignaled == 8;
        unsignaled = signaled ? 0 : unsignaled + 1;
        try (Arena arena = Arena.ofConfined()) {
            Ours ours = new Ours(arena, wanted.opcode() == OPCODE_SEND_INLINE);
            long list = writeElements(wanted);
            postByLibmlx5(wanted, list, signaled);
            ours.put(wanted, list, signaled);
            int units = ours.units();
            assertEquals(theirUnits(ours.first, units, wanted), ours.unitsFrom(ours.ring.address(), units, wanted),
                    () -> "request at block " + ours.first);
            assertEquals(NativeMemory.getInt(theirs.rings.doorbellRecord() + 4),
                    NativeMemory.getInt(ours.doorbellRecord + 4), "doorbell record");
            long request = ours.ring.address() + (long) ours.first * Wqe.BLOCK_BYTES;
            int written = wanted.opcode() == OPCODE_SEND_INLINE ? (units + 3) / 4 * Wqe.BLOCK_BYTES : Long.BYTES;
            assertEquals(-1, NativeMemory.segment(request, written)
                    .mismatch(NativeMemory.segment(ours.register, written)), "doorbell");
            ours.queue.close();
        }
        if (signaled) {
            awaitCompletion();
        }
    }

    private static String theirUnits(int first, int units, Case wanted) {
        return hex(theirs.rings.sendBuffer(), theirs.rings.sendBlocks(), first, units, wanted);
    }

    /** Returns the bytes of a request without the meaningless ones. */
    private static String hex(long buffer, int blocks, int firstBlock, int units, Case wanted) {
        StringBuilder text = new StringBuilder();
        int headerEnd = Wqe.CTRL_SIZE_BYTES + Wqe.ETH_INLINE_HDR_START_OFFSET + wanted.headerBytes();
        for (int i = 0; i < units * Wqe.UNIT_BYTES; i++) {
            if (wanted.headerBytes() > 0 && i >= headerEnd && i < (headerEnd + 15) / 16 * 16) {
                continue;
            }
            if (wanted.opcode() == OPCODE_SEND_INLINE && i >= carriedEnd(wanted)) {
                break;
            }
            long place = ((long) firstBlock * Wqe.BLOCK_BYTES + i) % ((long) blocks * Wqe.BLOCK_BYTES);
            text.append(HexFormat.of().toHexDigits(NativeMemory.getByte(buffer + place)));
        }
        return text.toString();
    }

    private static int carriedEnd(Case wanted) {
        int lengthBytes = (int) wanted.elements()[0][1];
        return Wqe.DATA_INLINE_START + lengthBytes + (multiPacket ? Wqe.CTRL_SIZE_BYTES + Wqe.UNIT_BYTES
                : Wqe.CTRL_SIZE_BYTES + Wqe.ETH_SIZE_BYTES - Wqe.ETH_L2_INLINE_BYTES);
    }

    private static long writeElements(Case wanted) {
        long list = theirs.scratch();
        for (int i = 0; i < wanted.elements().length; i++) {
            long element = list + (long) i * Sge.SIZE_BYTES;
            Sge.addr(element, wanted.elements()[i][0]);
            Sge.length(element, (int) wanted.elements()[i][1]);
            Sge.lkey(element, theirs.region.lkey());
        }
        return list;
    }

    private static void postByLibmlx5(Case wanted, long list, boolean signaled) {
        long request = list + 1024;
        NativeMemory.fill(request, SendWr.SIZE_BYTES, (byte) 0);
        SendWr.sgList(request, list);
        SendWr.numSge(request, wanted.elements().length);
        boolean inline = wanted.opcode() == OPCODE_SEND_INLINE;
        SendWr.opcode(request, inline ? SendWr.OPCODE_SEND : wanted.opcode());
        SendWr.sendFlags(request, (signaled ? SendWr.FLAG_SIGNALED : 0) | (inline ? SendWr.FLAG_INLINE : 0)
                | (wanted.checksums() ? SendWr.FLAG_IP_CSUM : 0));
        if (wanted.opcode() == SendWr.OPCODE_TSO) {
            SendWr.tsoHdr(request, theirs.memory.address());
            SendWr.tsoHeaderLengthBytes(request, (short) wanted.headerBytes());
            SendWr.tsoMss(request, (short) wanted.mssBytes());
        }
        assertEquals(0, theirs.queuePair.postSend(request, request + SendWr.SIZE_BYTES), "errno of the post");
    }

    private static void awaitCompletion() {
        long completion = theirs.scratch() + 4096;
        while (theirs.completions.poll(1, completion) == 0) {
            Thread.onSpinWait();
        }
        assertEquals(WcStatus.SUCCESS, Wc.status(completion), () -> WcStatus.name(Wc.status(completion)));
    }

    /** A copy of libmlx5's ring before the post, with our writer at the same position. */
    private static final class Ours {
        static final int BLUE_FLAME_BYTES = 256;
        static final int MAX_CARRIED_BLOCKS = 4;
        final MemorySegment ring;
        final long doorbellRecord;
        final long register;
        final Mlx5SendQueue queue;
        int first;

        Ours(Arena arena, boolean carries) {
            long bytes = (long) theirs.rings.sendBlocks() * Wqe.BLOCK_BYTES;
            ring = arena.allocate(bytes, Wqe.BLOCK_BYTES);
            ring.copyFrom(NativeMemory.segment(theirs.rings.sendBuffer(), bytes));
            doorbellRecord = arena.allocate(ValueLayout.JAVA_LONG).address();
            register = arena.allocate(2L * BLUE_FLAME_BYTES, Long.BYTES).address();
            int producer = NetworkOrder.getInt(theirs.rings.doorbellRecord() + 4);
            queue = new Mlx5SendQueue(new QueuePairRings(theirs.rings.number(), ring.address(),
                    theirs.rings.sendBlocks(), theirs.rings.receive(), doorbellRecord, register,
                    carries ? BLUE_FLAME_BYTES : 0), multiPacket, MAX_CARRIED_BLOCKS, producer, BlueFlameUse.SINGLE);
        }

        void put(Case wanted, long list, boolean signaled) {
            int count = wanted.elements().length;
            long[] only = wanted.elements()[0];
            if (wanted.opcode() == SendWr.OPCODE_TSO) {
                first = queue.putTso(theirs.memory.address(), wanted.headerBytes(), wanted.mssBytes(), list,
                        count);
            } else if (count == 1 && !wanted.checksums()) {
                first = queue.put(only[0], (int) only[1], theirs.region.lkey());
            } else {
                first = queue.putGathered(list, count, wanted.checksums());
            }
            if (signaled) {
                queue.signalLast();
            }
            queue.ringDoorbell();
        }

        int units() {
            long control = ring.address() + (long) first * Wqe.BLOCK_BYTES;
            return NetworkOrder.getInt(control + Wqe.CTRL_QPN_DS_OFFSET) & 0x3f;
        }

        String unitsFrom(long buffer, int units, Case wanted) {
            return hex(buffer, theirs.rings.sendBlocks(), first, units, wanted);
        }
    }
}
