package io.rdmaraw.microbench.manual;

import io.rdmaraw.tools.command.ToolException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * The manual page (section 1) of a command that the launcher implements itself. The page is derived from the help of
 * the command, which has three parts separated by empty lines: the usage, one sentence that describes the command, and
 * preformatted lines.
 */
final class LauncherPage {
    /** The commands that only the launcher implements, so that picocli has no model of them. */
    static final List<String> COMMANDS = List.of("build", "hardware-check", "install", "java", "release", "sim",
            "site", "test");

    private final String name;
    private final String help;
    private final String version;

    private LauncherPage(String command, String help, String version) {
        name = "rdma-raw-" + command;
        this.help = help;
        this.version = version;
    }

    /** Runs the launcher to get the help of one of its commands. */
    static LauncherPage of(String command, Path home, String version) {
        try {
            Process launcher = new ProcessBuilder(home.resolve("rdma-raw").toString(), command, "--help")
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            launcher.getOutputStream().close();
            String help = new String(launcher.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (launcher.waitFor() != 0) {
                throw new ToolException("./rdma-raw " + command + " --help ended with " + launcher.exitValue());
            }
            return new LauncherPage(command, help, version);
        } catch (IOException e) {
            throw new ToolException("cannot ask the launcher for the help of " + command + ": " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ToolException("interrupted", e);
        }
    }

    String render() {
        String[] parts = help.split("\n\n", 3);
        Roff page = new Roff().title(name, version).section("NAME")
                .line(name + " - " + parts[1].replaceFirst("(?s)[.:](\\s.*)?$", ""))
                .section("SYNOPSIS").raw(".nf");
        parts[0].lines().map(line -> line.replaceFirst("^(usage: |       )(\\./)?", "")).forEach(page::line);
        page.raw(".fi").section("DESCRIPTION").line(parts[1]);
        if (parts.length > 2) {
            page.raw(".PP").raw(".nf");
            parts[2].lines().forEach(line -> page.line(line));
            page.raw(".fi");
        }
        return page.section("SEE ALSO").line("rdma-raw(1)").toString();
    }
}
