package io.rdmaraw.host.userspace;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.SourceFilter;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.GroupMessage;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Reports of group memberships as a dialogue in virtual time: RFC 3376 and RFC 3810, and their predecessors. */
class GroupMembershipsTest {
    private static final long MAC = 0x02_00_00_00_00_0aL;
    private static final int MTU_BYTES = 1500;
    private static final String GROUP4 = "239.1.2.3";
    private static final String GROUP6 = "ff15::123";
    private static final IpAddress HOST4 = IpAddress.parse("10.0.0.1");
    private static final IpAddress HOST6 = IpAddress.parse("fe80::1");
    private static final String[] TYPES = {"", "IS_IN", "IS_EX", "TO_IN", "TO_EX", "ALLOW", "BLOCK"};
    private static final Object ONE = "one";
    private static final Object OTHER = "other";

    private final long frame = Libc.allocateZeroed(2048);
    private final List<String> said = new ArrayList<>();
    private final UserspaceHostCounters counters = new UserspaceHostCounters();
    private final GroupMemberships memberships = new GroupMemberships(new GroupReports(MAC, MTU_BYTES,
            new ControlOutput() {
                @Override
                public long allocate() {
                    return frame;
                }

                @Override
                public void send(int lengthBytes) {
                    said.add(read(lengthBytes));
                }
            }, ipv4 -> ipv4 ? HOST4 : HOST6), counters, new Random(5));
    /** Starts below zero and passes zero, which must have no special meaning. */
    private long nowNanos = -TimeUnit.SECONDS.toNanos(1);

    @AfterEach
    void free() {
        Libc.free(frame);
    }

    /** Checks that a router accepts the frame and returns its report as text. */
    private String read(int lengthBytes) {
        assertTrue(lengthBytes <= EthernetHeader.LENGTH_BYTES + MTU_BYTES);
        ParsedFrame parsed = new ParsedFrame();
        ParseVerdict verdict = new FrameParser(new ParseCounters()).parse(frame, lengthBytes, false, parsed);
        boolean ipv4 = parsed.ipVersion() == 4;
        assertEquals(ipv4 ? ParseVerdict.OTHER_PROTOCOL : ParseVerdict.ICMPV6, verdict);
        assertEquals(ipv4 ? HOST4 : HOST6, IpAddress.sourceOf(parsed));
        assertEquals(1, parsed.hopLimit());
        assertEquals(ipv4 ? 0x94040000L : 0x3a00050200000100L, ipv4
                ? NetworkOrder.getInt(parsed.networkHeaderAddress() + 20) & 0xffff_ffffL
                : NetworkOrder.getLong(parsed.networkHeaderAddress() + 40));
        long message = ipv4 ? parsed.payloadAddress() : parsed.transportHeaderAddress();
        assertEquals(ipv4 ? 24 : 48, message - parsed.networkHeaderAddress(), "with the router alert option");
        int bytes = lengthBytes - (int) (message - frame);
        if (ipv4) {
            assertEquals(IpProtocol.IGMP, parsed.protocol());
            assertTrue(InternetChecksum.isValid(InternetChecksum.sum(message, bytes)));
        }
        IpAddress destination = IpAddress.destinationOf(parsed);
        assertEquals(ipv4 ? EthernetHeader.multicastOfIpv4(destination.ipv4())
                : EthernetHeader.multicastOfIpv6(destination.low()), EthernetHeader.destination(frame));
        return destination + ": " + switch (IcmpHeader.type(message)) {
            case GroupMessage.IGMP_V3_REPORT, GroupMessage.MLD_V2_REPORT -> records(message, bytes, ipv4);
            case GroupMessage.IGMP_V2_REPORT, GroupMessage.MLD_V1_REPORT -> "report " + address(message, ipv4);
            case GroupMessage.IGMP_V2_LEAVE, GroupMessage.MLD_V1_DONE -> "leave " + address(message, ipv4);
            default -> "type " + IcmpHeader.type(message);
        };
    }

    private static IpAddress address(long message, boolean ipv4) {
        return at(GroupMessage.groupFieldAddress(message, ipv4), ipv4);
    }

    private static IpAddress at(long address, boolean ipv4) {
        return ipv4 ? IpAddress.ipv4(NetworkOrder.getInt(address))
                : new IpAddress(NetworkOrder.getLong(address), NetworkOrder.getLong(address + 8));
    }

    private static String records(long message, int bytes, boolean ipv4) {
        List<String> records = new ArrayList<>();
        int addressBytes = ipv4 ? 4 : 16;
        long at = message + 8;
        for (int n = NetworkOrder.getU16(message + 6); n > 0; n--) {
            int sources = NetworkOrder.getU16(at + 2);
            Set<String> list = new TreeSet<>();
            for (int i = 1; i <= sources; i++) {
                list.add(at(at + 4 + (long) i * addressBytes, ipv4).toString());
            }
            records.add(TYPES[NetworkOrder.getU8(at)] + ' ' + at(at + 4, ipv4) + ' '
                    + (sources > 4 ? sources + " sources" : list.toString()));
            at += 4 + (1L + sources) * addressBytes;
        }
        assertEquals(bytes, at - message, "nothing behind the last record");
        return String.join(", ", records);
    }

    private static IpAddress ip(String address) {
        return IpAddress.parse(address);
    }

    private static SourceFilter only(String... sources) {
        return new SourceFilter(false, addresses(sources));
    }

    private static SourceFilter allBut(String... sources) {
        return new SourceFilter(true, addresses(sources));
    }

    private static Set<IpAddress> addresses(String... sources) {
        Set<IpAddress> addresses = new java.util.HashSet<>();
        for (String source : sources) {
            addresses.add(ip(source));
        }
        return addresses;
    }

    private void set(Object member, String group, SourceFilter filter) {
        memberships.set(member, ip(group), filter, nowNanos);
    }

    private void pass(double seconds) {
        long end = nowNanos + (long) (seconds * 1e9);
        while (memberships.deadlineNanos() != Long.MAX_VALUE && memberships.deadlineNanos() - end <= 0) {
            nowNanos = Math.max(nowNanos, memberships.deadlineNanos());
            memberships.poll(nowNanos);
        }
        nowNanos = end;
    }

    private void expect(String... wanted) {
        assertEquals(List.of(wanted), said.stream().map(text -> text.replace(":0:0:0:0:0:0:", "::")).toList());
        said.clear();
    }

    /** Passes a query to the host. */
    private void ask(String group, int version, int millis, String... sources) {
        boolean ipv4 = ip(group).isIpv4();
        memberships.onQuery(new GroupQuery(ipv4, version, ip(group), addresses(sources), millis, 2), nowNanos);
    }

    private void expectTwice(String report) {
        pass(2);
        expect(report, report);
    }

    @Test
    void everyChangeIsReportedTwice() {
        set(ONE, GROUP4, allBut());
        expect("224.0.0.22: TO_EX 239.1.2.3 []");
        pass(1);
        expect("224.0.0.22: TO_EX 239.1.2.3 []");
        pass(60);
        expect();
        set(ONE, GROUP4, allBut("10.0.0.7"));
        expectTwice("224.0.0.22: BLOCK 239.1.2.3 [10.0.0.7]");
        set(ONE, GROUP4, allBut());
        expectTwice("224.0.0.22: ALLOW 239.1.2.3 [10.0.0.7]");
        set(ONE, GROUP4, SourceFilter.NOTHING);
        expectTwice("224.0.0.22: TO_IN 239.1.2.3 []");
        assertEquals(Long.MAX_VALUE, memberships.deadlineNanos());
        assertEquals(List.of(), memberships.groups());
    }

    @Test
    void singleSourcesAreAllowedAndBlocked() {
        set(ONE, GROUP6, only("fd00::7"));
        expectTwice("ff02::16: ALLOW ff15::123 [fd00::7]");
        set(ONE, GROUP6, only("fd00::8"));
        expectTwice("ff02::16: ALLOW ff15::123 [fd00::8], BLOCK ff15::123 [fd00::7]");
        set(ONE, GROUP6, SourceFilter.NOTHING);
        expectTwice("ff02::16: BLOCK ff15::123 [fd00::8]");
    }

    /** RFC 3376 section 3.2: reports describe the union of the memberships on the host. */
    @Test
    void membershipsOfHostAreReportedAsUnion() {
        set(ONE, GROUP4, only("10.0.0.7"));
        expectTwice("224.0.0.22: ALLOW 239.1.2.3 [10.0.0.7]");
        set(OTHER, GROUP4, allBut("10.0.0.7", "10.0.0.8"));
        expectTwice("224.0.0.22: TO_EX 239.1.2.3 [10.0.0.8]");
        set(ONE, GROUP4, allBut("10.0.0.9"));
        expectTwice("224.0.0.22: ALLOW 239.1.2.3 [10.0.0.8]");
        memberships.leaveAll(OTHER, nowNanos);
        expectTwice("224.0.0.22: BLOCK 239.1.2.3 [10.0.0.9]");
        memberships.leaveAll(ONE, nowNanos);
        expectTwice("224.0.0.22: TO_IN 239.1.2.3 []");
    }

    /** RFC 3376 section 5.1: a repeated report has the state at the time of the repetition. */
    @Test
    void quickChangesAreReportedTogether() {
        set(ONE, GROUP4, only("10.0.0.7"));
        set(ONE, GROUP4, only("10.0.0.7", "10.0.0.8"));
        expect("224.0.0.22: ALLOW 239.1.2.3 [10.0.0.7]", "224.0.0.22: ALLOW 239.1.2.3 [10.0.0.8]");
        pass(2);
        expect("224.0.0.22: ALLOW 239.1.2.3 [10.0.0.7, 10.0.0.8]");
        set(ONE, GROUP4, SourceFilter.NOTHING);
        set(ONE, GROUP4, only("10.0.0.7", "10.0.0.8"));
        said.clear();
        pass(2);
        expect("224.0.0.22: ALLOW 239.1.2.3 [10.0.0.7, 10.0.0.8]");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.0.0.0", "::"})
    void aQueryForAllIsAnsweredInOneReport(String all) {
        boolean ipv4 = ip(all).isIpv4();
        set(ONE, ipv4 ? GROUP4 : GROUP6, allBut());
        set(ONE, ipv4 ? "239.1.2.4" : "ff15::124", only(ipv4 ? "10.0.0.7" : "fd00::7"));
        set(ONE, ipv4 ? "224.0.0.1" : "ff02::1", allBut());
        set(ONE, ipv4 ? GROUP6 : GROUP4, allBut());
        pass(5);
        said.clear();
        ask(all, ipv4 ? 3 : 2, 10_000);
        pass(10);
        expect(ipv4 ? "224.0.0.22: IS_EX 239.1.2.3 [], IS_IN 239.1.2.4 [10.0.0.7]"
                : "ff02::16: IS_EX ff15::123 [], IS_IN ff15::124 [fd00::7]");
        pass(60);
        expect();
    }

    @Test
    void aQueryForOneGroupIsAnsweredForThatGroup() {
        set(ONE, GROUP4, only("10.0.0.7", "10.0.0.8"));
        set(ONE, "239.1.2.4", allBut("10.0.0.7"));
        pass(5);
        said.clear();
        ask(GROUP4, 3, 1000);
        ask("239.9.9.9", 3, 1000);
        pass(1);
        expect("224.0.0.22: IS_IN 239.1.2.3 [10.0.0.7, 10.0.0.8]");
        ask(GROUP4, 3, 1000, "10.0.0.8", "10.0.0.9");
        pass(1);
        expect("224.0.0.22: IS_IN 239.1.2.3 [10.0.0.8]");
        ask("239.1.2.4", 3, 1000, "10.0.0.7", "10.0.0.9");
        pass(1);
        expect("224.0.0.22: IS_IN 239.1.2.4 [10.0.0.9]");
        ask(GROUP4, 3, 1000, "10.0.0.9");
        pass(1);
        expect();
    }

    /** RFC 3376 section 5.2, rules 1 and 4. */
    @Test
    void oneReportAnswersSeveralQueries() {
        set(ONE, GROUP4, only("10.0.0.7", "10.0.0.8"));
        pass(5);
        said.clear();
        ask(GROUP4, 3, 1000, "10.0.0.7");
        ask(GROUP4, 3, 1000, "10.0.0.8");
        pass(1);
        expect("224.0.0.22: IS_IN 239.1.2.3 [10.0.0.7, 10.0.0.8]");
        ask(GROUP4, 3, 1000, "10.0.0.7");
        ask(GROUP4, 3, 1000);
        pass(1);
        expect("224.0.0.22: IS_IN 239.1.2.3 [10.0.0.7, 10.0.0.8]");
        ask("0.0.0.0", 3, 100);
        ask(GROUP4, 3, 100_000_000);
        pass(1);
        expect("224.0.0.22: IS_IN 239.1.2.3 [10.0.0.7, 10.0.0.8]");
    }

    /** RFC 3376 section 7.2.1, RFC 3810 section 8.2.1. */
    @ParameterizedTest
    @ValueSource(strings = {GROUP4, GROUP6})
    void anOlderRouterIsAnsweredInItsVersion(String group) {
        boolean ipv4 = ip(group).isIpv4();
        set(ONE, group, allBut());
        pass(5);
        said.clear();
        ask(ipv4 ? "0.0.0.0" : "::", ipv4 ? 2 : 1, 1000);
        pass(1);
        expect(group + ": report " + group);
        set(ONE, group, SourceFilter.NOTHING);
        expectTwice((ipv4 ? "224.0.0.2" : "ff02::2") + ": leave " + group);
        pass(300);
        set(ONE, group, allBut());
        expectTwice((ipv4 ? "224.0.0.22" : "ff02::16") + ": TO_EX " + group + " []");
    }

    @Test
    void longListsAreSplit() {
        String[] sources = new String[1000];
        for (int i = 0; i < sources.length; i++) {
            sources[i] = "10.1." + i / 250 + '.' + (i % 250 + 1);
        }
        set(ONE, GROUP4, only(sources));
        expect("224.0.0.22: ALLOW 239.1.2.3 365 sources", "224.0.0.22: ALLOW 239.1.2.3 365 sources",
                "224.0.0.22: ALLOW 239.1.2.3 270 sources");
        set(ONE, GROUP4, allBut(sources));
        expect("224.0.0.22: TO_EX 239.1.2.3 365 sources");
        for (int i = 0; i < 300; i++) {
            set(OTHER, "239.2." + i / 200 + '.' + (i % 200 + 1), allBut());
        }
        pass(5);
        said.clear();
        ask("0.0.0.0", 3, 1000);
        pass(1);
        assertEquals(3, said.size(), "a full record, and 300 of eight bytes in frames of 1,500");
    }

    /** Parses queries with wrong lengths and with floating-point response codes. */
    @Test
    void queriesAreParsed() {
        NativeMemory.fill(frame, 100, (byte) 0);
        NetworkOrder.putInt(frame, GroupMessage.IGMP_QUERY << 24 | 0x8f << 16);
        NetworkOrder.putInt(frame + 4, ip(GROUP4).ipv4());
        NetworkOrder.putInt(frame + 8, 0x0a_00_0002);
        assertEquals(100 * (0x1f << 3), GroupMessage.maximumResponseMillis(frame, true, true));
        assertEquals(100 * 0x8f, GroupMessage.maximumResponseMillis(frame, true, false));
        assertEquals(3, GroupMessage.queryVersion(frame, 20, true));
        assertEquals(0, GroupMessage.queryVersion(frame, 19, true), "the second source is cut off");
        assertEquals(2, GroupMessage.queryVersion(frame, 8, true));
        assertEquals(0, GroupMessage.queryVersion(frame, 11, true));
        assertEquals(2, GroupMessage.robustness(frame, true));
        NetworkOrder.putInt(frame + 4, 0x9001_0000);
        assertEquals(0x1001 << 4, GroupMessage.maximumResponseMillis(frame, false, true));
        assertEquals(0x9001, GroupMessage.maximumResponseMillis(frame, false, false));
        NetworkOrder.putInt(frame + 24, 0x0a_00_0001);
        assertEquals(2, GroupMessage.queryVersion(frame, 44, false));
        assertEquals(0, GroupMessage.queryVersion(frame, 43, false));
        assertEquals(1, GroupMessage.queryVersion(frame, 24, false));
        assertEquals(0, GroupMessage.queryVersion(frame, 27, false));
    }

    /** RFC 3376 section 5.2: if too many sources are queried, the reply covers the whole group. */
    @Test
    void queriedSourcesAreLimited() {
        for (boolean ipv4 : new boolean[] {true, false}) {
            IpAddress group = ip(ipv4 ? GROUP4 : GROUP6);
            memberships.set(ONE, group, SourceFilter.EVERYTHING, nowNanos);
            for (int i = 0; i < 10; i++) {
                Set<IpAddress> sources = new HashSet<>();
                for (int n = 0; n < 300; n++) {
                    int number = 300 * i + n;
                    sources.add(ipv4 ? IpAddress.ipv4(0x0a00_0000 + number) : new IpAddress(1L << 61, number));
                }
                memberships.onQuery(new GroupQuery(ipv4, ipv4 ? 3 : 2, group, sources, 10_000, 2), nowNanos);
                assertTrue(memberships.queriedSourceCount() <= 512, "what many queries ask for");
            }
        }
    }
}
