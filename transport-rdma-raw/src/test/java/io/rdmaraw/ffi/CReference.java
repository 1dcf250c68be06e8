package io.rdmaraw.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A C program that answers each input line with a line. It serves as the reference for our code in generated
 * cases.
 */
public final class CReference {
    private final PrintWriter questions;
    private final BufferedReader answers;

    /** Compiles and starts the program. */
    public CReference(Path source) throws IOException, InterruptedException {
        Path directory = Files.createTempDirectory("creference");
        Path program = directory.resolve("program");
        Process compiler = new ProcessBuilder(List.of("cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o",
                program.toString(), source.toString())).redirectErrorStream(true).start();
        String output = new String(compiler.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, compiler.waitFor(), output);
        Process process = new ProcessBuilder(program.toString()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        // The running program no longer needs its file. It terminates with this process, when its input ends.
        Files.delete(program);
        Files.delete(directory);
        questions = new PrintWriter(process.outputWriter(StandardCharsets.US_ASCII));
        answers = process.inputReader(StandardCharsets.US_ASCII);
    }

    /** Returns the program's answer. */
    public synchronized String ask(String question) {
        questions.print(question + '\n');
        questions.flush();
        try {
            String answer = answers.readLine();
            assertNotNull(answer, "the C program ended");
            return answer;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
