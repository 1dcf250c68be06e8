package io.rdmaraw.verbs.port;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.io.IOException;
import java.lang.foreign.Arena;

/**
 * A MAC address in the lists of a network interface, until it is closed. A packet socket adds it
 * ({@code PACKET_ADD_MEMBERSHIP}, see packet(7)). The kernel counts the users of an address, so several processes and
 * the kernel itself can list the same one. If the process ends, its addresses are removed.
 */
final class InterfaceMac implements AutoCloseable {
    private static final int AF_PACKET = 17;
    private static final int SOCK_RAW = 3;
    private static final int SOL_PACKET = 263;
    private static final int PACKET_ADD_MEMBERSHIP = 1;
    private static final int PACKET_MR_MULTICAST = 0;
    private static final int PACKET_MR_UNICAST = 3;
    /** {@code struct packet_mreq}. */
    private static final int MREQ_BYTES = 16;
    private static final int MR_TYPE_OFFSET = 4;
    private static final int MR_ALEN_OFFSET = 6;
    private static final int MR_ADDRESS_OFFSET = 8;
    private static final int MAC_BYTES = 6;

    private final NativeSocket socket;

    private InterfaceMac(NativeSocket socket) {
        this.socket = socket;
    }

    /** Adds an address to the list of unicast or multicast addresses of an interface of the current namespace. */
    static InterfaceMac add(int interfaceIndex, long mac) throws IOException {
        NativeSocket socket = NativeSocket.open(AF_PACKET, SOCK_RAW, 0);
        try (Arena arena = Arena.ofConfined()) {
            long request = arena.allocate(MREQ_BYTES, Integer.BYTES).address();
            NativeMemory.putInt(request, interfaceIndex);
            NativeMemory.putShort(request + MR_TYPE_OFFSET,
                    (short) (PortMacAddress.isMulticast(mac) ? PACKET_MR_MULTICAST : PACKET_MR_UNICAST));
            NativeMemory.putShort(request + MR_ALEN_OFFSET, (short) MAC_BYTES);
            for (int i = 0; i < MAC_BYTES; i++) {
                NativeMemory.putByte(request + MR_ADDRESS_OFFSET + i, (byte) (mac >>> 8 * (MAC_BYTES - 1 - i)));
            }
            int status = socket.setOption(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request, MREQ_BYTES);
            if (status != 0) {
                socket.close();
                throw new IOException("PACKET_ADD_MEMBERSHIP: " + Errno.describe(-status));
            }
            return new InterfaceMac(socket);
        }
    }

    @Override
    public void close() {
        socket.close();
    }
}
