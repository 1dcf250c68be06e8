package io.rdmaraw.verbs;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;

/**
 * A completion queue whose completions are read one field at a time ({@code struct ibv_cq_ex}), which gives what {@link
 * Wc} lacks: time stamp, VLAN tag, flow tag.
 *
 * <p>{@link #startPoll} finds the first completion, {@link #nextPoll} the next; in between the accessors read the
 * present one; {@link #endPoll} ends it, and must be called when, and only when, {@code startPoll} has returned true.
 * For one thread. An accessor may be called only for a field that was asked for at creation; else it throws
 * IllegalStateException.
 */
public final class ExtendedCompletionQueue extends CompletionQueue {
    private static final int POLL_CQ_ATTR_SIZE_BYTES = 4;

    private final long startPoll;
    private final long nextPoll;
    private final long endPoll;
    private final long readOpcode;
    private final long readVendorErr;
    private final long readByteLen;
    private final long readQpNum;
    private final long readWcFlags;
    private final long readCompletionTimestamp;
    private final long readCvlan;
    private final long readFlowTag;
    private final long readWallclock;
    /** A {@code struct ibv_poll_cq_attr}, whose only member is an empty mask; lives as long as the class. */
    private static final long POLL_ATTR = Libc.allocateZeroed(POLL_CQ_ATTR_SIZE_BYTES);

    ExtendedCompletionQueue(VerbsContext context, ExtendedCompletionQueueOptions options, long cq) {
        super(context, options.channelOrNull(), cq);
        long fields = options.fields();
        startPoll = function(cq, CqExLayout.START_POLL_OFFSET, true);
        nextPoll = function(cq, CqExLayout.NEXT_POLL_OFFSET, true);
        endPoll = function(cq, CqExLayout.END_POLL_OFFSET, true);
        readOpcode = function(cq, CqExLayout.READ_OPCODE_OFFSET, true);
        readVendorErr = function(cq, CqExLayout.READ_VENDOR_ERR_OFFSET, true);
        readWcFlags = function(cq, CqExLayout.READ_WC_FLAGS_OFFSET, true);
        readByteLen = function(cq, CqExLayout.READ_BYTE_LEN_OFFSET,
                (fields & ExtendedCompletionQueueOptions.WITH_BYTE_LEN) != 0);
        readQpNum = function(cq, CqExLayout.READ_QP_NUM_OFFSET,
                (fields & ExtendedCompletionQueueOptions.WITH_QP_NUM) != 0);
        readCompletionTimestamp = function(cq, CqExLayout.READ_COMPLETION_TS_OFFSET,
                (fields & ExtendedCompletionQueueOptions.WITH_COMPLETION_TIMESTAMP) != 0);
        readCvlan = function(cq, CqExLayout.READ_CVLAN_OFFSET,
                (fields & ExtendedCompletionQueueOptions.WITH_CVLAN) != 0);
        readFlowTag = function(cq, CqExLayout.READ_FLOW_TAG_OFFSET,
                (fields & ExtendedCompletionQueueOptions.WITH_FLOW_TAG) != 0);
        readWallclock = function(cq, CqExLayout.READ_COMPLETION_WALLCLOCK_NS_OFFSET,
                (fields & ExtendedCompletionQueueOptions.WITH_COMPLETION_WALLCLOCK) != 0);
    }

    private static long function(long cq, int offset, boolean wanted) {
        return wanted ? NativeMemory.getLong(cq + offset) : 0;
    }

    /** Finds the first completion; returns false when there is none, and then nothing need be ended. */
    public boolean startPoll() {
        long cq = address;
        if (cq == 0) {
            throw closed();
        }
        return found(HotCalls.startPoll(startPoll, cq, POLL_ATTR), "ibv_start_poll");
    }

    /** Goes on to the next completion; returns false when there is none. */
    public boolean nextPoll() {
        return found(HotCalls.readInt(nextPoll, address), "ibv_next_poll");
    }

    /** Gives the completions that were read back to the provider. */
    public void endPoll() {
        HotCalls.endPoll(endPoll, address);
    }

    /** Returns the {@code wr_id} of the present completion. */
    public long wrId() {
        return NativeMemory.getLong(address + CqExLayout.WR_ID_OFFSET);
    }

    /** Returns the status of the present completion; see {@link WcStatus}. */
    public int status() {
        return NativeMemory.getInt(address + CqExLayout.STATUS_OFFSET);
    }

    /** Returns the opcode; see {@link Wc#OPCODE_RECV}. */
    public int opcode() {
        return HotCalls.readInt(readOpcode, address);
    }

    /** Returns the vendor's code of an error. */
    public int vendorError() {
        return HotCalls.readInt(readVendorErr, address);
    }

    /** Returns the flags; see {@link Wc#FLAG_IP_CSUM_OK}. */
    public int flags() {
        return HotCalls.readInt(readWcFlags, address);
    }

    /** Returns the number of bytes received. */
    public int byteLength() {
        return HotCalls.readInt(asked(readByteLen, "WITH_BYTE_LEN"), address);
    }

    /** Returns the number of the queue pair. */
    public int queuePairNumber() {
        return HotCalls.readInt(asked(readQpNum, "WITH_QP_NUM"), address);
    }

    /** Returns the tag of the flow rule that matched. */
    public int flowTag() {
        return HotCalls.readInt(asked(readFlowTag, "WITH_FLOW_TAG"), address);
    }

    /** Returns the VLAN tag (TCI) that the device stripped. */
    public int vlanTag() {
        return HotCalls.readShort(asked(readCvlan, "WITH_CVLAN"), address) & 0xffff;
    }

    /** Returns when the frame arrived, in ticks of the device's clock. */
    public long completionTimestampTicks() {
        return HotCalls.readLong(asked(readCompletionTimestamp, "WITH_COMPLETION_TIMESTAMP"), address);
    }

    /** Returns when the frame arrived, in nanoseconds of the real-time clock. */
    public long completionWallclockNanos() {
        return HotCalls.readLong(asked(readWallclock, "WITH_COMPLETION_WALLCLOCK"), address);
    }

    private static long asked(long function, String field) {
        if (function == 0) {
            throw new IllegalStateException("the completion queue was not created with " + field);
        }
        return function;
    }

    private static boolean found(int errno, String call) {
        if (errno == 0) {
            return true;
        }
        if (errno == Errno.ENOENT) {
            return false;
        }
        throw VerbsException.of(call, Math.abs(errno), "");
    }
}
