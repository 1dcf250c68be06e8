package io.rdmaraw.tools.frame;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TemplateRangesTest {
    @Test
    void withoutARangeItIsItself() {
        String text = "eth(dst=02:00:00:00:00:02)/ipv6(src=2001:2::1)/udp(src=1)";
        assertEquals(List.of(text), TemplateRanges.expand(text));
    }

    @Test
    void everyCombinationIsAFlow() {
        assertEquals(List.of("eth/ipv4(src=10.0.0.255)/udp(src=7)", "eth/ipv4(src=10.0.0.255)/udp(src=8)",
                "eth/ipv4(src=10.0.1.0)/udp(src=7)", "eth/ipv4(src=10.0.1.0)/udp(src=8)"),
                TemplateRanges.expand("eth/ipv4(src=10.0.0.255..10.0.1.0)/udp(src=7..8)"));
    }

    @Test
    void macAndIpv6AddressesHaveRanges() {
        assertEquals(List.of("eth(src=02:00:00:00:00:ff)", "eth(src=02:00:00:00:01:00)"),
                TemplateRanges.expand("eth(src=02:00:00:00:00:ff..02:00:00:00:01:00)"));
        assertEquals(3, TemplateRanges.expand("eth/ipv6(src=2001:db8::1..2001:db8::3)").size());
        TemplateRanges.expand("eth/ipv6(src=2001:db8::1..2001:db8::3)").forEach(FrameTemplate::parse);
    }

    @Test
    void numbersMayBeHexadecimal() {
        assertEquals(List.of("eth/vlan(id=15)", "eth/vlan(id=16)"), TemplateRanges.expand("eth/vlan(id=0xf..0x10)"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"eth/vlan(id=5..1)", "eth/ipv4(src=10.0.0.1..7)", "eth/ipv4(src=10.0.0.0..10.255.255.255)",
        "eth/ipv4(src=10.0.0.1..10.0.1.255)/udp(src=1..1000)"})
    void invalidOrTooLargeRangeIsRefused(String template) {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> TemplateRanges.expand(template));
        assertTrue(e.getMessage().contains("range"), e.getMessage());
    }
}
