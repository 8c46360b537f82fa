class Flowdedup < Formula
  desc "Remove duplicate packets from captures and live traffic"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "{{.License}}"

  on_macos do
    on_arm do
      url "{{url "darwin_arm64"}}"
      sha256 "{{sum "darwin_arm64"}}"
    end
    on_intel do
      url "{{url "darwin_amd64"}}"
      sha256 "{{sum "darwin_amd64"}}"
    end
  end

  on_linux do
    on_arm do
      url "{{url "linux_arm64"}}"
      sha256 "{{sum "linux_arm64"}}"
    end
    on_intel do
      url "{{url "linux_amd64"}}"
      sha256 "{{sum "linux_amd64"}}"
    end
  end

  def install
    bin.install "flowdedup"
    man1.install Dir["man/*.1.gz"]
    man7.install Dir["man/*.7.gz"]
    bash_completion.install "completion/bash" => "flowdedup"
    zsh_completion.install "completion/zsh" => "_flowdedup"
    fish_completion.install "completion/fish" => "flowdedup.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/flowdedup version")
  end
end
