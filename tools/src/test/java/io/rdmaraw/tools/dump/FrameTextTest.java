package io.rdmaraw.tools.dump;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.pcap.PcapFormat;
import io.rdmaraw.pcap.PcapWriter;
import io.rdmaraw.tools.frame.FrameTemplate;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FrameTextTest {
    private static String text(byte[] frame, int captured) {
        return FrameText.of(new CaptureReply.Frame(0, true, 1, "", "", Arrays.copyOf(frame, captured), frame.length));
    }

    private static String text(byte[] frame) {
        String line = text(frame, frame.length);
        assertTrue(line.matches("\\d\\d:\\d\\d:\\d\\d\\.000000 Out .*"), line);
        return line.substring("00:00:00.000000 Out ".length());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "eth/ipv4(src=10.0.0.1,dst=10.0.0.2)/tcp(src=40000,dst=9999,seq=5,ack=7,flags=2,window=512)",
        "eth/ipv4/tcp(src=40000,dst=9999,seq=4294967290,ack=7,flags=24,window=512)/payload(length=18)",
        "eth/ipv4/tcp(src=40000,dst=9999,seq=5,flags=4,window=0)",
        "eth/ipv4/tcp(src=40000,dst=9999,seq=5,ack=9,flags=17,window=0)",
        "eth/ipv6(src=2001:db8::1,dst=2001:db8::2)/tcp(src=40000,dst=9999,seq=5,ack=7,flags=16,window=512)",
        "eth/ipv4/udp(src=40000,dst=9999)/payload(length=100)"})
    void lineIsThatOfTcpdump(String template, @TempDir Path directory) throws Exception {
        byte[] frame = FrameTemplate.parse(template).build();
        Path file = directory.resolve("frame.pcap");
        try (PcapWriter writer = PcapWriter.create(file, PcapFormat.LINKTYPE_ETHERNET)) {
            writer.write(1, frame, 0, frame.length);
        }
        List<String> lines = Programs.lines("tcpdump", "-t", "-S", "-n", "-r", file.toString());
        assertEquals(lines.getFirst().replace("2001:db8::", "2001:db8:0:0:0:0:0:"), text(frame));
    }

    @Test
    void otherFramesHaveTheirProtocol() {
        assertEquals("vlan 5, IP 198.18.0.1 > 198.18.0.2: protocol 253, length 20",
                text(FrameTemplate.parse("eth/vlan(id=5)/ipv4/payload(length=20)").build()));
        assertEquals("02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype 0x88b5, length 64",
                text(FrameTemplate.parse("eth/payload(length=50)").build()));
        byte[] arp = FrameTemplate.parse("eth(type=2054)/payload(hex=0001080006040001020000000001c6120001"
                + "000000000000c6120002)").build();
        assertEquals("ARP, request who-has 198.18.0.2 tell 198.18.0.1", text(arp));
        arp[21] = 2;
        assertEquals("ARP, reply 198.18.0.1 is-at 02:00:00:00:00:01", text(arp));
    }

    @Test
    void frameThatWasCutOffIsDescribedAsFarAsItGoes() {
        byte[] frame = FrameTemplate.parse("eth/vlan/ipv6/tcp(src=1,dst=2)/payload(length=18)").build();
        for (int captured = 0; captured < frame.length; captured++) {
            String line = text(frame, captured);
            assertEquals(captured < 18 + 40 + 16, line.endsWith("[|cut off]"), captured + ": " + line);
        }
    }
}
