package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.tcp.segment.Segment;

/**
 * The frame whose segment the core looks at, with its reference, or the frames of several segments that it takes for
 * one. A frame is released in the end, unless its segment goes to another loop, or its payload to the connection's
 * user, who then has the reference. For the loop's thread.
 */
final class ReceivedFrame {
    private final ByteBuf[] frames = new ByteBuf[Segment.MAX_SLICES];
    private int count;
    /** Payloads are taken in the order of their frames. */
    private int next;
    private boolean checksumVerified;

    /** Takes over a frame's reference. */
    void begin(ByteBuf received, boolean verified) {
        frames[0] = received;
        count = 1;
        next = 0;
        checksumVerified = verified;
    }

    /** Takes over the reference of a frame that goes on where the one before ends. */
    void add(ByteBuf received) {
        frames[count++] = received;
    }

    ByteBuf first() {
        return frames[0];
    }

    /** Returns how many there are: several when the core takes their segments for one. */
    int count() {
        return count;
    }

    /** Returns one of them, all of whose bytes can be read. */
    ByteBuf frame(int index) {
        return frames[index];
    }

    /** Tells whether the device has verified the frame's checksums. */
    boolean isChecksumVerified() {
        return checksumVerified;
    }

    /** Gives the reference to the caller; of a single frame. */
    ByteBuf take() {
        ByteBuf taken = frames[0];
        frames[0] = null;
        return taken;
    }

    /** Returns payload with a reference of its own: that of its frame if nothing else uses the frame. */
    ByteBuf takePayload(ByteBuf buffer, int index, int length) {
        for (int i = next; i < count; i++) {
            if (buffer == frames[i]) {
                next = i + 1;
                if (buffer instanceof FrameBuf slot && slot.refCnt() == 1) {
                    frames[i] = null;
                    return slot.window(index, length);
                }
                break;
            }
        }
        return buffer.retainedSlice(index, length);
    }

    /** The core has seen the segment. */
    void end() {
        for (int i = 0; i < count; i++) {
            ByteBuf frame = frames[i];
            if (frame != null) {
                frames[i] = null;
                frame.release();
            }
        }
        count = 0;
    }
}
