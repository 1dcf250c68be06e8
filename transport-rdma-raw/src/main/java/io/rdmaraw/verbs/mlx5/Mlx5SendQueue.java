package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.Sge;

/**
 * Writes the send ring of a raw-packet queue pair.
 *
 * <p>Requests are added one after the other and are posted by {@link #ringDoorbell}. A request occupies one block of
 * the ring if its frame has one element, and more blocks otherwise. Completions refer to the first block of a
 * request. The ring does not check whether it is full: the caller must limit the number of frames in flight.
 *
 * <p>If the device supports multi-packet requests, consecutive frames of one element share a request with one
 * data segment each. A request with a single frame is an ordinary request, which differs only in its opcode. If
 * a burst consists of a single short frame, the frame is copied into its request, and the request into the
 * register. The device then reads nothing over PCIe.
 */
public final class Mlx5SendQueue {
    private static final int SEND_COUNTER_OFFSET = 4;
    private static final long SIGNALED = (long) Wqe.CTRL_CQ_UPDATE << 32;
    private static final int UNITS_SHIFT = Integer.numberOfTrailingZeros(Wqe.UNITS_PER_BLOCK);
    private static final int ONE_ELEMENT_UNITS =
            (Wqe.CTRL_SIZE_BYTES + Wqe.ETH_SIZE_BYTES + Wqe.DATA_SIZE_BYTES) / Wqe.UNIT_BYTES;
    private static final int HEADER_UNITS = 2;
    /**
     * Maximum number of frames in a multi-packet request. DPDK uses the same number; the length field would
     * permit 61. A smaller request completes sooner, and a burst of 64 frames takes two.
     */
    static final int MAX_FRAMES_OF_REQUEST = 32;
    private static final int BLOCK_SHIFT = Integer.numberOfTrailingZeros(Wqe.BLOCK_BYTES);

    private final long buffer;
    private final int blockMask;
    private final int unitMask;
    private final long doorbellRecord;
    private final long numberField;
    private final long blueFlameHalfBytes;
    private final BlueFlameRegister blueFlame;
    private final BlueFlameUse blueFlameUse;
    private final boolean multiPacket;
    /** Length of the control and Ethernet segments of a frame that is not segmented. */
    private final int headerBytes;
    private final int maxInlineBlocks;
    private long register;
    /** Number of blocks written. The device counts the low 16 bits. */
    private int producer;
    private int rungProducer;
    private long lastRequest;
    /** Number of frames in the last request if further frames may join it, otherwise 0. */
    private int multiPacketFrames;
    private int multiPacketBlock;
    private int multiPacketIndex;
    private long multiPacketChecksums;
    private long nextSegment;

    /**
     * Creates a writer for a new or reset queue pair.
     *
     * @param multiPacket     whether the device supports multi-packet requests
     * @param maxInlineBlocks maximum length of a request that contains its frame
     */
    public Mlx5SendQueue(QueuePairRings rings, boolean multiPacket, int maxInlineBlocks) {
        this(rings, multiPacket, maxInlineBlocks, 0, BlueFlameUse.OF_PROCESS);
    }

    Mlx5SendQueue(QueuePairRings rings, boolean multiPacket, int maxInlineBlocks, int producer, BlueFlameUse use) {
        this.multiPacket = multiPacket;
        headerBytes = Wqe.CTRL_SIZE_BYTES + (multiPacket ? Wqe.UNIT_BYTES : Wqe.ETH_SIZE_BYTES);
        this.maxInlineBlocks = Math.min(maxInlineBlocks, rings.blueFlameBytes() / Wqe.BLOCK_BYTES);
        this.producer = producer;
        rungProducer = producer;
        buffer = rings.sendBuffer();
        blockMask = rings.sendBlocks() - 1;
        unitMask = rings.sendBlocks() * Wqe.UNITS_PER_BLOCK - 1;
        doorbellRecord = rings.doorbellRecord() + SEND_COUNTER_OFFSET;
        numberField = (rings.number() & 0xffffffL) << 8;
        blueFlameHalfBytes = rings.blueFlameBytes();
        blueFlameUse = use;
        register = rings.blueFlameRegister();
        blueFlame = BlueFlameRegister.claim(register);
    }

    /**
     * Registers a queue pair that sends through libmlx5. From now on, queues that share its register only use
     * doorbells: libmlx5's lock separates its own requests from each other, but not from ours.
     *
     * @return an action to run once, after the queue pair has been destroyed
     */
    public static Runnable registerVerbsSender(QueuePairRings rings) {
        return BlueFlameRegister.claim(rings.blueFlameRegister())::release;
    }

    /** Returns the maximum number of blocks of a frame with the given number of elements. */
    public static int blocksOf(int elements) {
        return (Wqe.CTRL_SIZE_BYTES + Wqe.ETH_SIZE_BYTES + elements * Wqe.DATA_SIZE_BYTES + Wqe.BLOCK_BYTES - 1)
                / Wqe.BLOCK_BYTES;
    }

    /** Returns the maximum number of blocks of a frame that the device segments. */
    public static int blocksOfTso(int headerBytes, int elements) {
        return (headerUnits(headerBytes) + elements + Wqe.UNITS_PER_BLOCK - 1) / Wqe.UNITS_PER_BLOCK;
    }

    /** Returns the length in units of the control and Ethernet segments with inline headers. */
    private static int headerUnits(int headerBytes) {
        return (Wqe.CTRL_SIZE_BYTES + Wqe.ETH_INLINE_HDR_START_OFFSET + headerBytes + Wqe.UNIT_BYTES - 1)
                / Wqe.UNIT_BYTES;
    }

    /** Returns the length of the ring in blocks. */
    public int blocks() {
        return blockMask + 1;
    }

    /** Returns the number of blocks added since the queue pair was created or reset. */
    public int producedBlocks() {
        return producer;
    }

    /** Returns the place in the ring, in blocks, that a completion's counter refers to. */
    public int ringIndexOf(int wqeCounter) {
        return wqeCounter & blockMask;
    }

    /** Returns the number of blocks of a request. Valid until its completion has been read. */
    public int blocksAt(int wqeCounter) {
        return unitsOf(controlAt(wqeCounter)) + Wqe.UNITS_PER_BLOCK - 1 >> UNITS_SHIFT;
    }

    /** Returns the number of frames of a request. A frame that the device segments counts as one. */
    public int framesAt(int wqeCounter) {
        long control = controlAt(wqeCounter);
        return opcodeOf(control) == Wqe.OPCODE_MULTI_PACKET ? unitsOf(control) - HEADER_UNITS : 1;
    }

    private long controlAt(int index) {
        return NetworkOrder.getLong(startOf(index));
    }

    private static int unitsOf(long control) {
        return (int) control & 0x3f;
    }

    private static int opcodeOf(long control) {
        return (int) (control >>> 32) & 0xff;
    }

    /** Restarts the ring after a reset of the queue pair. */
    public void reset() {
        producer = 0;
        rungProducer = 0;
        multiPacketFrames = 0;
    }

    /**
     * Adds a contiguous frame in registered memory. Hot path.
     *
     * @param lengthBytes more than {@value Wqe#ETH_L2_INLINE_BYTES}
     * @return the first block of the request
     */
    public int put(long frame, int lengthBytes, int lkey) {
        if (multiPacket) {
            return addToMultiPacket(frame, lengthBytes, lkey, 0);
        }
        long address = NativeMemory.assumeUserSpace(frame);
        int block = producer & blockMask;
        long wqe = NativeMemory.assumeUserSpace(buffer + ((long) block << BLOCK_SHIFT));
        putControl(wqe, Wqe.OPCODE_SEND, ONE_ELEMENT_UNITS);
        NativeMemory.putLong(wqe + 16, 0);
        // The first bytes of the frame are inlined before the data segment. The first two of them share a word
        // with the inline length.
        NetworkOrder.putLong(wqe + 24, (long) Wqe.ETH_L2_INLINE_BYTES << 16
                | NetworkOrder.getLong(address) >>> 48);
        NativeMemory.putLong(wqe + 32, NativeMemory.getLong(address + 2));
        NativeMemory.putLong(wqe + 40, NativeMemory.getLong(address + 10));
        putData(wqe + 48, address + Wqe.ETH_L2_INLINE_BYTES, lengthBytes - Wqe.ETH_L2_INLINE_BYTES, lkey);
        lastRequest = wqe;
        producer++;
        return block;
    }

    /**
     * Adds a frame to the last request, or begins a new one. A request is completed when no more frames can
     * join. Hot path.
     */
    private int addToMultiPacket(long address, int lengthBytes, int lkey, long checksums) {
        int frames = multiPacketFrames;
        if (frames == 0 || frames == MAX_FRAMES_OF_REQUEST || checksums != multiPacketChecksums) {
            finishMultiPacket();
            beginMultiPacket(checksums);
            frames = 0;
        }
        long segment = NativeMemory.assumeUserSpace(nextSegment);
        putData(segment, address, lengthBytes, lkey);
        long next = segment + Wqe.DATA_SIZE_BYTES;
        nextSegment = next == buffer + ringBytes() ? buffer : next;
        multiPacketFrames = ++frames;
        // The first block has room for two frames beside the control and Ethernet segments, each further block
        // for four.
        if ((frames & 3) == 3) {
            producer++;
        }
        return multiPacketBlock;
    }

    private void beginMultiPacket(long checksums) {
        int block = producer & blockMask;
        long wqe = NativeMemory.assumeUserSpace(buffer + ((long) block << BLOCK_SHIFT));
        NativeMemory.putLong(wqe + 8, 0);
        NetworkOrder.putLong(wqe + 16, checksums);
        NativeMemory.putLong(wqe + 24, 0);
        multiPacketBlock = block;
        multiPacketIndex = producer;
        multiPacketChecksums = checksums;
        nextSegment = wqe + Wqe.CTRL_SIZE_BYTES + Wqe.UNIT_BYTES;
        lastRequest = wqe;
        producer++;
    }

    /** Writes the number of frames of the last request. */
    private void finishMultiPacket() {
        int frames = multiPacketFrames;
        if (frames > 0) {
            int opcode = frames == 1 ? Wqe.OPCODE_SEND : Wqe.OPCODE_MULTI_PACKET;
            NetworkOrder.putLong(lastRequest, controlWord(multiPacketIndex, opcode, HEADER_UNITS + frames));
            multiPacketFrames = 0;
        }
    }

    /**
     * Adds a frame that consists of several elements.
     *
     * @param elements  address of {@link Sge} structures with a total of more than
     *                  {@value Wqe#ETH_L2_INLINE_BYTES} bytes
     * @param checksums whether the device computes the IPv4, UDP and TCP checksums
     * @return the first block of the request
     */
    public int putGathered(long elements, int elementCount, boolean checksums) {
        long field = checksumField(checksums);
        if (multiPacket && elementCount == 1) {
            return addToMultiPacket(Sge.addr(elements), Sge.length(elements), Sge.lkey(elements), field);
        }
        finishMultiPacket();
        long wqe = startOf(producer);
        long end = elements + (long) elementCount * Sge.SIZE_BYTES;
        NetworkOrder.putLong(wqe + 16, field);
        if (multiPacket) {
            NativeMemory.putLong(wqe + 24, 0);
            return finish(wqe, Wqe.OPCODE_SEND, putElements(HEADER_UNITS, elements, 0, end));
        }
        NetworkOrder.putLong(wqe + 24, (long) Wqe.ETH_L2_INLINE_BYTES << 16);
        long inline = wqe + Wqe.CTRL_SIZE_BYTES + Wqe.ETH_INLINE_HDR_START_OFFSET;
        long element = elements;
        int inlined = 0;
        int taken = 0;
        while (inlined < Wqe.ETH_L2_INLINE_BYTES) {
            taken = Math.min(Sge.length(element), Wqe.ETH_L2_INLINE_BYTES - inlined);
            NativeMemory.copy(Sge.addr(element), inline + inlined, taken);
            inlined += taken;
            if (taken == Sge.length(element)) {
                element += Sge.SIZE_BYTES;
                taken = 0;
            }
        }
        int units = putElements((Wqe.CTRL_SIZE_BYTES + Wqe.ETH_SIZE_BYTES) / Wqe.UNIT_BYTES, element, taken, end);
        return finish(wqe, Wqe.OPCODE_SEND, units);
    }

    /**
     * Adds headers and a payload that the device segments (TSO). The device also computes the checksums.
     *
     * @param headers  address of the headers of each segment; they are copied
     * @param mssBytes payload of a segment
     * @param elements address of the {@link Sge} structures of the payload
     * @return the first block of the request
     */
    public int putTso(long headers, int headerBytes, int mssBytes, long elements, int elementCount) {
        finishMultiPacket();
        long wqe = startOf(producer);
        NetworkOrder.putLong(wqe + 16, checksumField(true) | (long) mssBytes);
        NetworkOrder.putLong(wqe + 24, (long) headerBytes << 16);
        long inline = wqe + Wqe.CTRL_SIZE_BYTES + Wqe.ETH_INLINE_HDR_START_OFFSET;
        long untilEnd = buffer + ringBytes() - inline;
        int first = (int) Math.min(untilEnd, headerBytes);
        NativeMemory.copy(headers, inline, first);
        NativeMemory.copy(headers + first, buffer, headerBytes - first);
        int units = putElements(headerUnits(headerBytes), elements, 0,
                elements + (long) elementCount * Sge.SIZE_BYTES);
        return finish(wqe, Wqe.OPCODE_TSO, units);
    }

    private static long checksumField(boolean checksums) {
        return checksums ? (long) (Wqe.ETH_L3_CSUM | Wqe.ETH_L4_CSUM) << 24 : 0;
    }

    /** Writes a data segment for each element with remaining bytes. Returns the length of the request in units. */
    private int putElements(int unitsBefore, long firstElement, int takenOfFirst, long end) {
        int units = unitsBefore;
        int taken = takenOfFirst;
        for (long element = firstElement; element < end; element += Sge.SIZE_BYTES) {
            int lengthBytes = Sge.length(element) - taken;
            if (lengthBytes > 0) {
                long unit = (long) (producer & blockMask) * Wqe.UNITS_PER_BLOCK + units & unitMask;
                putData(buffer + unit * Wqe.UNIT_BYTES, Sge.addr(element) + taken, lengthBytes, Sge.lkey(element));
                units++;
            }
            taken = 0;
        }
        return units;
    }

    private int finish(long wqe, int opcode, int units) {
        int block = producer & blockMask;
        putControl(wqe, opcode, units);
        lastRequest = wqe;
        producer += (units + Wqe.UNITS_PER_BLOCK - 1) / Wqe.UNITS_PER_BLOCK;
        return block;
    }

    private long ringBytes() {
        return (long) (unitMask + 1) * Wqe.UNIT_BYTES;
    }

    private long startOf(int index) {
        return buffer + ((long) (index & blockMask) << BLOCK_SHIFT);
    }

    private void putControl(long wqe, int opcode, int units) {
        NetworkOrder.putLong(wqe, controlWord(producer, opcode, units));
        NativeMemory.putLong(wqe + 8, 0);
    }

    private long controlWord(int index, int opcode, int units) {
        return (long) (index & 0xffff) << 40 | (long) opcode << 32 | numberField | units;
    }

    private static void putData(long segment, long address, int lengthBytes, int lkey) {
        NetworkOrder.putLong(segment, (long) lengthBytes << 32 | lkey & 0xffffffffL);
        NetworkOrder.putLong(segment + Wqe.DATA_ADDR_OFFSET, address);
    }

    /** Requests a completion for the last request. */
    public void signalLast() {
        NetworkOrder.putLong(lastRequest + 8, SIGNALED);
    }

    /**
     * Posts the added requests to the device. Like libmlx5 ({@code post_send_db}), writes a single request of
     * one block to the register, if the device supports that and no other queue writes to this register.
     */
    public void ringDoorbell() {
        finishMultiPacket();
        boolean useBlueFlame = producer - rungProducer == 1 && blueFlameHalfBytes != 0 && !blueFlame.isShared()
                && blueFlameUse != BlueFlameUse.NEVER && opcodeOf(NetworkOrder.getLong(lastRequest)) == Wqe.OPCODE_SEND;
        if (useBlueFlame) {
            useBlueFlame = inlineFrame() || blueFlameUse == BlueFlameUse.SINGLE;
        }
        Doorbell.writeRecord(doorbellRecord, producer & 0xffff);
        if (useBlueFlame) {
            Doorbell.writeRequest(register, lastRequest, producer - rungProducer << BLOCK_SHIFT);
        } else {
            Doorbell.writeRegister(register, NativeMemory.getLong(lastRequest));
        }
        rungProducer = producer;
        register ^= blueFlameHalfBytes;
    }

    /**
     * Copies the frame into its request, as libmlx5 does for {@code IBV_SEND_INLINE}. Returns false unless the
     * frame is contiguous and short and the request does not wrap around the end of the ring.
     */
    private boolean inlineFrame() {
        long control = NetworkOrder.getLong(lastRequest);
        long segment = lastRequest + headerBytes;
        int units = unitsOf(control);
        int lengthBytes = NetworkOrder.getInt(segment);
        int inlinedBytes = headerBytes + Wqe.DATA_INLINE_START + lengthBytes;
        if (units * Wqe.UNIT_BYTES != headerBytes + Wqe.DATA_SIZE_BYTES
                || inlinedBytes > Math.min(maxInlineBlocks, blockMask + 1 - (producer - 1 & blockMask))
                        * Wqe.BLOCK_BYTES) {
            return false;
        }
        NativeMemory.copy(NetworkOrder.getLong(segment + Wqe.DATA_ADDR_OFFSET),
                segment + Wqe.DATA_INLINE_START, lengthBytes);
        NetworkOrder.putInt(segment, lengthBytes | Wqe.DATA_INLINE);
        int inlinedUnits = (inlinedBytes + Wqe.UNIT_BYTES - 1) / Wqe.UNIT_BYTES;
        NetworkOrder.putLong(lastRequest, control + inlinedUnits - units);
        producer += (inlinedUnits - 1) / Wqe.UNITS_PER_BLOCK;
        return true;
    }

    /** Releases the register after the queue pair was destroyed. Must be called once. */
    public void close() {
        blueFlame.release();
    }
}
