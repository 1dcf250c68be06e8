package io.rdmaraw.net.rtnetlink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.rdmaraw.net.Link;
import io.rdmaraw.netlink.NetlinkReader;
import io.rdmaraw.netlink.NetlinkWriter;
import org.junit.jupiter.api.Test;

class RtnetlinkDecoderTest {
    private static final int RTM_NEWLINK = 16;
    private static final int AF_UNSPEC = 0;
    private static final int AF_BRIDGE = 7;
    private static final int IFINFOMSG_BYTES = 16;
    private static final int INDEX = 5;

    private static Link link(int family, int fixedBytes) {
        try (NetlinkWriter writer = new NetlinkWriter()) {
            writer.begin(RTM_NEWLINK, 0, 0, fixedBytes).fixedByte(0, family).fixedInt(4, INDEX);
            NetlinkReader reader = new NetlinkReader();
            reader.reset(writer.address(), writer.finish());
            reader.nextMessage();
            return RtnetlinkDecoder.link(reader);
        }
    }

    @Test
    void readsLinks() {
        assertEquals(INDEX, link(AF_UNSPEC, IFINFOMSG_BYTES).index());
        assertNull(link(AF_UNSPEC, IFINFOMSG_BYTES - 1));
    }

    /** When a port leaves a bridge, RTM_DELLINK has the family of bridges. The interface remains. */
    @Test
    void bridgePortMessageIsIgnored() {
        assertNull(link(AF_BRIDGE, IFINFOMSG_BYTES));
    }
}
