package io.rdmaraw.tools.perf;

import io.rdmaraw.tools.frame.FrameTemplate;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowSpecBuilder;
import java.util.ArrayList;
import java.util.List;

/**
 * The frames that one side sends and receives. {@link #reversed()} returns those of the other side.
 *
 * @param local        addresses of this side: the source of its frames and the destination in its flow rules
 * @param remote       addresses of the other side
 * @param ipVersion    4, 6, or 0 for frames without IP
 * @param tcp          whether the ports are TCP ports; UDP otherwise
 * @param vlanId       VLAN of the frames, or 0 for untagged frames
 * @param vlanPriority 0 to 7, or {@link #EVERY_PRIORITY} to cycle through all of them
 * @param flows        number of flows; the ports of both sides count up from the given ones
 * @param flowsBurst   number of consecutive frames of the same flow
 */
record PerfFrames(PerfAddress local, PerfAddress remote, int etherType, int ipVersion, boolean tcp, int vlanId,
        int vlanPriority, int trafficClass, int hopLimit, int flowLabel, int flows, int flowsBurst) {
    /** The value by which perftest requests all priorities in turn. */
    static final int EVERY_PRIORITY = 8;
    private static final int PRIORITIES = 8;

    boolean hasPorts() {
        return local.port() >= 0;
    }

    PerfFrames reversed() {
        return new PerfFrames(remote, local, etherType, ipVersion, tcp, vlanId, vlanPriority, trafficClass, hopLimit,
                flowLabel, flows, flowsBurst);
    }

    /** Returns the length of the headers that do not count towards the MTU. */
    int linkHeaderBytes() {
        return 14 + (vlanId > 0 ? 4 : 0);
    }

    int headerBytes() {
        return template(0, 0).headerBytes();
    }

    /** Returns the offset of the {@link Stamp} in a frame of this length, or {@link Stamp#NO_OFFSET}. */
    int stampOffset(int frameBytes) {
        int offset = headerBytes();
        return frameBytes >= offset + Stamp.LENGTH_BYTES ? offset : Stamp.NO_OFFSET;
    }

    /** Returns the frames in the order in which they are sent. */
    List<byte[]> build(int frameBytes) {
        List<byte[]> frames = new ArrayList<>();
        int priorities = vlanId > 0 && vlanPriority == EVERY_PRIORITY ? PRIORITIES : 1;
        for (int flow = 0; flow < flows; flow++) {
            for (int i = 0; i < Math.max(flowsBurst, priorities); i++) {
                byte[] frame = template(flow, priorities == 1 ? vlanPriority : i % priorities).build(frameBytes);
                int stamp = stampOffset(frameBytes);
                if (stamp != Stamp.NO_OFFSET) {
                    // Reserve the bytes of the stamp with a placeholder of the same sum, so that a stamp keeps the
                    // checksum valid.
                    frame = stamped(flow, priorities == 1 ? vlanPriority : i % priorities, frameBytes);
                }
                frames.add(frame);
            }
        }
        return frames;
    }

    /** Returns the frame with a payload that begins with the number 0 and its complement. */
    private byte[] stamped(int flow, int priority, int frameBytes) {
        return FrameTemplate.parse(text(flow, priority) + "/payload(hex=00000000ffffffff)").build(frameBytes);
    }

    private FrameTemplate template(int flow, int priority) {
        return FrameTemplate.parse(text(flow, priority));
    }

    private String text(int flow, int priority) {
        StringBuilder text = new StringBuilder("eth(dst=" + remote.mac() + ",src=" + local.mac() + ",type="
                + etherType + ')');
        if (vlanId > 0) {
            text.append("/vlan(id=").append(vlanId).append(",prio=").append(priority).append(",type=")
                    .append(etherType).append(')');
        }
        if (ipVersion == 4) {
            text.append("/ipv4(src=").append(local.ip()).append(",dst=").append(remote.ip()).append(",tos=")
                    .append(trafficClass).append(",ttl=").append(hopLimit).append(')');
        } else if (ipVersion == 6) {
            text.append("/ipv6(src=").append(local.ip()).append(",dst=").append(remote.ip()).append(",tc=")
                    .append(trafficClass).append(",hlim=").append(hopLimit).append(",fl=").append(flowLabel)
                    .append(')');
        }
        if (hasPorts()) {
            text.append(tcp ? "/tcp" : "/udp").append("(src=").append(local.port() + flow).append(",dst=")
                    .append(remote.port() + flow).append(')');
        }
        return text.toString();
    }

    /** Returns the flow rules for the frames of the other side, one for each flow. */
    List<FlowSpec> rules(boolean allowHostTraffic) {
        List<FlowSpec> rules = new ArrayList<>();
        for (int flow = 0; flow < flows; flow++) {
            rules.add(rule(flow, allowHostTraffic));
        }
        return rules;
    }

    /** Returns the flow rule of one flow; {@code flow} may exceed {@link #flows()}. */
    FlowSpec rule(int flow, boolean allowHostTraffic) {
        FlowSpecBuilder rule = FlowSpec.builder().destinationMac(local.mac());
        if (vlanId > 0) {
            rule.vlan(vlanId);
        }
        if (ipVersion == 4) {
            rule.ipv4Destination(local.ip()).ipv4Source(remote.ip());
        } else if (ipVersion == 6) {
            rule.ipv6Destination(local.ip()).ipv6Source(remote.ip());
        } else {
            rule.etherType(etherType);
        }
        if (hasPorts()) {
            // Match both ports: a rule that matches only one of them would need a mask for the other.
            (tcp ? rule.tcp() : rule.udp()).destinationPort(local.port() + flow).sourcePort(remote.port() + flow);
        }
        if (allowHostTraffic) {
            rule.allowHostTraffic();
        }
        FlowSpec built = rule.build();
        built.checkHostTraffic();
        return built;
    }

    /** Returns these frames with IP addresses and port 0 if they have no ports. */
    PerfFrames withPorts() {
        if (hasPorts()) {
            return this;
        }
        boolean v6 = ipVersion == 6;
        PerfAddress from = new PerfAddress(local.mac(), local.ip() != null ? local.ip() : "198.18.0.1", 0);
        PerfAddress to = new PerfAddress(remote.mac(), remote.ip() != null ? remote.ip() : "198.18.0.2", 0);
        return new PerfFrames(from, to, etherType, v6 ? 6 : 4, tcp, vlanId, vlanPriority, trafficClass, hopLimit,
                flowLabel, flows, flowsBurst);
    }

    /** Returns the flow rule of these frames with other ports. */
    FlowSpec ruleOfPorts(int sourcePort, int destinationPort) {
        PerfAddress from = new PerfAddress(local.mac(), local.ip(), destinationPort);
        PerfAddress to = new PerfAddress(remote.mac(), remote.ip(), sourcePort);
        return new PerfFrames(from, to, etherType, ipVersion, tcp, vlanId, vlanPriority, trafficClass, hopLimit,
                flowLabel, 1, 1).rule(0, true);
    }
}
