package io.rdmaraw.device;

/** Finds the channels of captured frames. Called on the loop's thread. */
public interface ChannelIds {
    /**
     * Returns the ID of the frame's channel, or null if there is none.
     *
     * @param address     address of the first bytes of the frame
     * @param lengthBytes number of bytes at the address
     */
    String find(long address, int lengthBytes, boolean sent);
}
