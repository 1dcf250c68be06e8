package io.rdmaraw.tools.perf;

import io.rdmaraw.tools.run.SelfLoopback;
import picocli.CommandLine.Option;

/** The options that select the side and its device. */
final class SideOptions {
    @Option(names = {"-d", "--device", "--ib-dev"}, paramLabel = "D", defaultValue = "soft:loop",
            description = "the device: see ./rdma-raw devinfo --list")
    private String device;

    @Option(names = {"-i", "--ib-port"}, paramLabel = "N", description = "the port of the device")
    private Integer portNumber;

    @Option(names = {"-Z", "--server"}, description = "only the side that receives (lat: answers)")
    private boolean server;

    @Option(names = {"-P", "--client"}, description = "only the side that sends; without -Z and -P both run here")
    private boolean client;

    @Option(names = "--server-device", paramLabel = "D", description = "when both run here, the other side's device")
    private String serverDevice;

    @Option(names = "--allow-host-traffic",
            description = "make rules even if they take traffic that this host needs, such as all of its MAC address")
    private boolean allowHostTraffic;

    @Option(names = {"-e", "--events"}, description = "sleep on completion events in place of polling")
    private boolean events;

    void check() {
        if (portNumber != null && (portNumber < 1 || portNumber > 255)) {
            throw new IllegalArgumentException("--ib-port must be 1 to 255");
        }
        if (server && client) {
            throw new IllegalArgumentException("--server and --client: one of them, or none to run both here");
        }
        if (serverDevice != null && !both()) {
            throw new IllegalArgumentException("--server-device goes with both sides here, without -Z and -P");
        }
        if (both() && (serverDevice == null || serverDevice.equals(device))) {
            SelfLoopback.enable();
        }
    }

    boolean both() {
        return !server && !client;
    }

    boolean runsServer() {
        return !client;
    }

    boolean runsClient() {
        return !server;
    }

    private int portNumber() {
        return portNumber == null ? 0 : portNumber;
    }

    PerfSide client() {
        return new PerfSide(device, portNumber(), allowHostTraffic);
    }

    PerfSide server() {
        return new PerfSide(serverDevice == null ? device : serverDevice, portNumber(), allowHostTraffic);
    }

    boolean events() {
        return events;
    }
}
