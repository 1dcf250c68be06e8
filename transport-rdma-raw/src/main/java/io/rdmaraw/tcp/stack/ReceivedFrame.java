package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.FrameBuf;

/**
 * The frame whose segment the core looks at, with its reference: it is released in the end, unless its segment goes to
 * another loop, or its payload to the connection's user, who then has the reference. For the loop's thread.
 */
final class ReceivedFrame {
    private ByteBuf frame;
    private boolean checksumVerified;

    /** Takes over a frame's reference. */
    void begin(ByteBuf received, boolean verified) {
        frame = received;
        checksumVerified = verified;
    }

    /** Tells whether the device has verified the frame's checksums. */
    boolean isChecksumVerified() {
        return checksumVerified;
    }

    /** Gives the reference to the caller. */
    ByteBuf take() {
        ByteBuf taken = frame;
        frame = null;
        return taken;
    }

    /** Returns payload with a reference of its own: that of the frame if nothing else uses the frame. */
    ByteBuf takePayload(ByteBuf buffer, int index, int length) {
        if (buffer == frame && buffer instanceof FrameBuf slot && slot.refCnt() == 1) {
            frame = null;
            return slot.window(index, length);
        }
        return buffer.retainedSlice(index, length);
    }

    /** The core has seen the segment. */
    void end() {
        if (frame != null) {
            take().release();
        }
    }
}
