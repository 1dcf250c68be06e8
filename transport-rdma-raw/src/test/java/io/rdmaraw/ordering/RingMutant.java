package io.rdmaraw.ordering;

import java.util.List;
import java.util.stream.Stream;

/**
 * A planted bug: replaces the first match of {@code find} in a source file of io.rdmaraw.verbs.mlx5, ignoring white
 * space.
 */
record RingMutant(String name, String file, String find, String replace) {
    private static final String SEND = "Mlx5SendQueue";
    private static final String RECEIVE = "Mlx5ReceiveQueue";
    private static final String COMPLETION = "Mlx5CompletionQueue";

    /** Stores and loads in the wrong order. On x86-64 no device detects them. */
    private static final List<RingMutant> ORDER = List.of(
            new RingMutant("no release at the record of sends", SEND,
                    "Doorbell.writeRecord(doorbellRecord, producer & 0xffff);",
                    "NetworkOrder.putInt(doorbellRecord, producer & 0xffff);"),
            new RingMutant("no release at any record", "Doorbell",
                    "NativeMemory.putIntBigEndianRelease(record, value);",
                    "NativeMemory.putInt(record, Integer.reverseBytes(value));"),
            new RingMutant("no release at the record of receives", RECEIVE,
                    "Doorbell.writeRecord(doorbellRecord, producer & 0xffff);",
                    "NetworkOrder.putInt(doorbellRecord, producer & 0xffff);"),
            new RingMutant("record of receives before their addresses", RECEIVE,
                    "int place = producer++ & mask;",
                    "int place = producer++ & mask; ringDoorbell();"),
            new RingMutant("no fence before the register", "Doorbell",
                    "NativeMemory.fullFence(); NativeMemory.putLongRelease(register, value);",
                    "NativeMemory.putLongRelease(register, value);"),
            new RingMutant("no fence behind the register", "Doorbell",
                    "NativeMemory.putLongRelease(register, value); NativeMemory.fullFence();",
                    "NativeMemory.putLongRelease(register, value);"),
            new RingMutant("register before the record", SEND,
                    "Doorbell.writeRecord(doorbellRecord, producer & 0xffff);",
                    "Doorbell.writeRegister(register, NativeMemory.getLong(lastRequest)); "
                            + "Doorbell.writeRecord(doorbellRecord, producer & 0xffff);"),
            new RingMutant("no acquire at the owner's bit", COMPLETION,
                    "NativeMemory.getByteAcquire(cqe + Cqe.OP_OWN_OFFSET)",
                    "NativeMemory.getByte(cqe + Cqe.OP_OWN_OFFSET)"),
            new RingMutant("no release at the consumer index", COMPLETION,
                    "Doorbell.writeRecord(doorbellRecord, consumer & INDEX_MASK); }",
                    "NetworkOrder.putInt(doorbellRecord, consumer & INDEX_MASK); }"),
            new RingMutant("consumer index before the entry is read", COMPLETION,
                    "consumer = index + 1; return cqe;",
                    "consumer = index + 1; releaseEntries(); return cqe;"));

    /** Values that a card rejects. */
    private static final List<RingMutant> WORDS = List.of(
            new RingMutant("doorbell of another queue pair", SEND,
                    "NativeMemory.getLong(lastRequest)",
                    "NativeMemory.getLong(lastRequest) ^ 0x0001_0000_0000_0000L"),
            new RingMutant("doorbell of the request before", SEND,
                    "Doorbell.writeRegister(register, NativeMemory.getLong(lastRequest));",
                    "Doorbell.writeRegister(register, NativeMemory.getLong(startOf(producer - 2)));"),
            new RingMutant("doorbell of a request that is not there yet", SEND,
                    "NativeMemory.getLong(lastRequest)",
                    "NetworkOrder.swap64(NetworkOrder.getLong(lastRequest) + (5L << 40))"),
            new RingMutant("doorbell in the machine's byte order", SEND,
                    "NativeMemory.getLong(lastRequest)", "NetworkOrder.getLong(lastRequest)"),
            new RingMutant("doorbell with its halves exchanged", SEND,
                    "NativeMemory.getLong(lastRequest)", "Long.rotateLeft(NativeMemory.getLong(lastRequest), 32)"),
            new RingMutant("request with the index of the one before", SEND,
                    "(long) (index & 0xffff) << 40", "(long) (index - 1 & 0xffff) << 40"),
            new RingMutant("record of sends counts beyond 16 bits", SEND,
                    "Doorbell.writeRecord(doorbellRecord, producer & 0xffff);",
                    "Doorbell.writeRecord(doorbellRecord, producer);"),
            new RingMutant("record of receives counts beyond 16 bits", RECEIVE,
                    "Doorbell.writeRecord(doorbellRecord, producer & 0xffff);",
                    "Doorbell.writeRecord(doorbellRecord, producer);"),
            new RingMutant("nothing of the frame in the request", SEND,
                    "NetworkOrder.putLong(wqe + 24, (long) Wqe.ETH_L2_INLINE_BYTES << 16 | NetworkOrder.getLong",
                    "NetworkOrder.putLong(wqe + 24, 0L << 16 | NetworkOrder.getLong"),
            new RingMutant("the request holds no place for a VLAN tag", SEND,
                    "NetworkOrder.putLong(wqe + 24, (long) Wqe.ETH_L2_INLINE_BYTES << 16 | NetworkOrder.getLong",
                    "NetworkOrder.putLong(wqe + 24, 14L << 16 | NetworkOrder.getLong"),
            new RingMutant("the request holds a byte too few", SEND,
                    "while (inlined < Wqe.ETH_L2_INLINE_BYTES) {",
                    "NetworkOrder.putLong(wqe + 24, 17L << 16); while (inlined < Wqe.ETH_L2_INLINE_BYTES) {"),
            new RingMutant("BlueFlame with part of the request", "Doorbell",
                    "i < lengthBytes;", "i < 48;"),
            new RingMutant("BlueFlame with another request", "Doorbell",
                    "NativeMemory.getLong(request + i)", "NativeMemory.getLong(request + i / 32 * 32)"),
            new RingMutant("BlueFlame for the last of several", SEND, "producer - rungProducer == 1 &&",
                    "producer > 0 &&"),
            new RingMutant("empty elements get a segment", SEND, "if (lengthBytes > 0) {", "if (lengthBytes >= 0) {"),
            new RingMutant("a header stops at the ring's end", SEND,
                    "NativeMemory.copy(headers + first, buffer, headerBytes - first);", ""),
            new RingMutant("arming of another completion queue", COMPLETION,
                    "number & 0xffffffffL", "number + 7 & 0xffffffffL"),
            new RingMutant("arming with the number of an event that was taken", COMPLETION,
                    "(eventsTaken & SEQUENCE_MASK)", "(0 & SEQUENCE_MASK)"),
            new RingMutant("arming register and record differ", COMPLETION,
                    "(long) request << 32", "(long) (request + 1) << 32"),
            new RingMutant("arming with the halves exchanged", COMPLETION,
                    "NetworkOrder.swap64((long) request << 32 | number & 0xffffffffL)",
                    "NetworkOrder.swap64((long) number << 32 | request & 0xffffffffL)"),
            new RingMutant("arming record not written", COMPLETION,
                    "Doorbell.writeRecord(doorbellRecord + ARM_OFFSET, request);", ""));

    /** Multi-packet requests, and frames inlined in their request. */
    private static final List<RingMutant> MULTI_PACKET = List.of(
            new RingMutant("request for one frame too few", SEND,
                    "HEADER_UNITS + frames)", "HEADER_UNITS + Math.max(1, frames - 1))"),
            new RingMutant("request for one frame too many", SEND,
                    "HEADER_UNITS + frames)", "HEADER_UNITS + frames + (frames > 1 ? 1 : 0))"),
            new RingMutant("several frames by the operation for one", SEND,
                    "frames == 1 ? Wqe.OPCODE_SEND", "frames > 0 ? Wqe.OPCODE_SEND"),
            new RingMutant("more frames than the length can count", SEND,
                    "MAX_FRAMES_OF_REQUEST = 32", "MAX_FRAMES_OF_REQUEST = 64"),
            new RingMutant("segments beyond the ring's end", SEND,
                    "next == buffer + ringBytes() ? buffer : next", "next == buffer + ringBytes() ? next - 64 : next"),
            new RingMutant("frames with other checksums in one request", SEND,
                    "|| checksums != multiPacketChecksums) {", ") {"),
            new RingMutant("a request for several takes one block", SEND,
                    "if ((frames & 3) == 3) { producer++; }", ""),
            new RingMutant("a request for several takes a block too many", SEND,
                    "if ((frames & 3) == 3) {", "if ((frames & 3) == 2) {"),
            new RingMutant("request for several with the index of its end", SEND,
                    "controlWord(multiPacketIndex,", "controlWord(producer,"),
            new RingMutant("request left open when another kind begins", SEND,
                    "finishMultiPacket(); long wqe = startOf(producer); long end",
                    "long wqe = startOf(producer); long end"),
            new RingMutant("request left open when segments begin", SEND,
                    "finishMultiPacket(); long wqe = startOf(producer); "
                            + "NetworkOrder.putLong(wqe + 16, checksumField(true)",
                    "long wqe = startOf(producer); NetworkOrder.putLong(wqe + 16, checksumField(true)"),
            new RingMutant("request left open when the bell rings", SEND,
                    "finishMultiPacket(); boolean useBlueFlame", "boolean useBlueFlame"),
            new RingMutant("Ethernet segment as it was a lap ago", SEND,
                    "NetworkOrder.putLong(wqe + 16, checksums);", ""),
            new RingMutant("inline header as it was a lap ago", SEND,
                    "NativeMemory.putLong(wqe + 24, 0); multiPacketBlock", "multiPacketBlock"),
            new RingMutant("flags as they were a lap ago", SEND,
                    "NativeMemory.putLong(wqe + 8, 0); NetworkOrder.putLong(wqe + 16, checksums);",
                    "NetworkOrder.putLong(wqe + 16, checksums);"),
            new RingMutant("a frame in its request is not marked", SEND,
                    "lengthBytes | Wqe.DATA_INLINE", "lengthBytes"),
            new RingMutant("a frame in its request is a byte short", SEND,
                    "NetworkOrder.putInt(segment, lengthBytes | Wqe.DATA_INLINE)",
                    "NetworkOrder.putInt(segment, lengthBytes - 1 | Wqe.DATA_INLINE)"),
            new RingMutant("a frame in its request where an address would be", SEND,
                    "segment + Wqe.DATA_INLINE_START, lengthBytes)", "segment + 8, lengthBytes - 4)"),
            new RingMutant("the length of a request without the frame in it", SEND,
                    "control + inlinedUnits - units", "control"),
            new RingMutant("blocks of a frame in its request are not counted", SEND,
                    "producer += (inlinedUnits - 1) / Wqe.UNITS_PER_BLOCK;", ""),
            new RingMutant("a frame in its request is one of several", SEND,
                    "units * Wqe.UNIT_BYTES != headerBytes + Wqe.DATA_SIZE_BYTES ||", ""));

    static final List<RingMutant> ALL =
            Stream.of(ORDER, WORDS, MULTI_PACKET).flatMap(List::stream).toList();
}
