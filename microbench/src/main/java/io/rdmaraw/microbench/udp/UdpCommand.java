package io.rdmaraw.microbench.udp;

import io.rdmaraw.microbench.result.BenchOptions;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.microbench.wire.DatagramWireBench;
import io.rdmaraw.tools.command.ToolException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

/** Implements {@code rdma-raw bench udp}. */
@Command(name = "udp", mixinStandardHelpOptions = true, showDefaultValues = true,
        description = "Sends datagrams to and fro between two event loops on 127.0.0.1: by the loop device, and by "
                + "Netty's NIO channels and the kernel's loopback, in turns. And, as root, echoes them over a veth "
                + "pair of its own: by our channel on AF_XDP, and by Netty's epoll and NIO channels.")
public final class UdpCommand implements Callable<Integer> {
    private static final int[] WINDOWS = {1, 64};

    @Option(names = {"-s", "--length"}, paramLabel = "BYTES", defaultValue = "18",
            description = "length of the datagrams, 0 to 1472")
    private int payloadBytes;

    @Option(names = "--loop-only", description = "only what needs neither root nor a network")
    private boolean loopOnly;

    @Mixin
    private BenchOptions options;

    @Override
    public Integer call() throws Exception {
        options.require(payloadBytes >= 0 && payloadBytes <= 1472, "--length must be 0 to 1472");
        return options.print(this::measure);
    }

    private BenchReport measure() throws InterruptedException {
        PrintWriter progress = options.progress();
        BenchReport report = new BenchReport("udp");
        for (int window : WINDOWS) {
            progress.println("udp.rr.window" + window);
            progress.flush();
            measure(window, report);
        }
        if (!loopOnly) {
            measureWire(report, progress);
        }
        return report;
    }

    private void measureWire(BenchReport report, PrintWriter progress) {
        try {
            new DatagramWireBench(payloadBytes, options.runs(5), options.quick(), progress).addTo(report);
        } catch (ToolException e) {
            progress.println("rdma-raw: the cases over veth are left out: " + e.getMessage());
            report.addNotMeasured("udp.wire", e.getMessage());
        }
    }

    private void measure(int window, BenchReport report) throws InterruptedException {
        Map<UdpPair.Transport, List<Double>> rates = new EnumMap<>(UdpPair.Transport.class);
        Map<UdpPair.Transport, List<Double>> allocated = new EnumMap<>(UdpPair.Transport.class);
        boolean quick = options.quick();
        for (int i = 0; i < options.runs(3); i++) {
            for (UdpPair.Transport transport : UdpPair.Transport.values()) {
                try (UdpPair pair = new UdpPair(transport, window, payloadBytes)) {
                    pair.run(quick ? 1 : 3);
                    UdpPair.Sample sample = pair.run(quick ? 0.7 : 2);
                    rates.computeIfAbsent(transport, t -> new ArrayList<>()).add(sample.roundTripsPerSecond());
                    allocated.computeIfAbsent(transport, t -> new ArrayList<>()).add(sample.bytesPerDatagram());
                }
            }
            addRows("udp.rr.window" + window, rates, allocated, report);
        }
    }

    private static void addRows(String name, Map<UdpPair.Transport, List<Double>> rates,
            Map<UdpPair.Transport, List<Double>> allocated, BenchReport report) {
        UdpPair.Transport nio = UdpPair.Transport.NIO;
        for (UdpPair.Transport transport : UdpPair.Transport.values()) {
            report.add(transport == nio
                    ? BenchRow.of(name, nio.text(), nio.device(), Unit.ROUND_TRIPS_PER_SECOND, rates.get(nio))
                    : BenchRow.compared(name, transport.text(), transport.device(), Unit.ROUND_TRIPS_PER_SECOND,
                            rates.get(transport), nio.text(), rates.get(nio)));
        }
        for (UdpPair.Transport transport : UdpPair.Transport.values()) {
            report.add(BenchRow.of(name + ".alloc", transport.text(), transport.device(), Unit.BYTES_PER_DATAGRAM,
                    allocated.get(transport)));
        }
    }
}
