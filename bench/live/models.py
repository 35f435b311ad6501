"""The PyTorch models of tenants.py, with random weights.

ResNet-50 and BERT-base come from torchvision and transformers where these are installed; else, and
with own=True, from the definitions here, which have the same layers and sizes. A GPT-style decoder
(the size of GPT-2 small) is always our own. small=True shrinks everything for trying out on a CPU.
"""
import torch
from torch import nn
from torch.nn import functional as F

BERT_WORDS, PEGASUS_WORDS, WHISPER_WORDS = 30522, 96103, 51866


def attend(q, k, v):
    """Attention without a mask; PyTorch before 2.0 has no function for it."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v)
    weights = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1)
    return weights @ v


# ---- ResNet-50 ----

class Bottleneck(nn.Module):
    def __init__(self, n_in, n_mid, stride):
        super().__init__()
        n_out = 4 * n_mid
        self.main = nn.Sequential(
            nn.Conv2d(n_in, n_mid, 1, bias=False), nn.BatchNorm2d(n_mid), nn.ReLU(inplace=True),
            nn.Conv2d(n_mid, n_mid, 3, stride, 1, bias=False), nn.BatchNorm2d(n_mid),
            nn.ReLU(inplace=True),
            nn.Conv2d(n_mid, n_out, 1, bias=False), nn.BatchNorm2d(n_out))
        self.side = nn.Identity()
        if stride != 1 or n_in != n_out:
            self.side = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False),
                                      nn.BatchNorm2d(n_out))

    def forward(self, x):
        return F.relu(self.main(x) + self.side(x), inplace=True)


class OwnResNet(nn.Module):
    def __init__(self, depths=(3, 4, 6, 3), classes=1000):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                  nn.MaxPool2d(3, 2, 1)]
        n_in = 64
        for i, depth in enumerate(depths):
            for j in range(depth):
                layers.append(Bottleneck(n_in, 64 << i, 2 if i and not j else 1))
                n_in = 256 << i
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(n_in, classes)

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3)))


def resnet50(own=False, small=False):
    """Returns the model and where it is from."""
    if not own and not small:
        try:
            import torchvision
            return torchvision.models.resnet50(), "torchvision " + torchvision.__version__
        except ImportError:
            pass
    return OwnResNet((1, 1, 1, 1) if small else (3, 4, 6, 3)), "own"


# ---- BERT-base ----

class BertLayer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        n, t, w = x.shape
        q, k, v = (a.view(n, t, self.heads, -1).transpose(1, 2)
                   for a in self.qkv(x).split(w, dim=-1))
        a = attend(q, k, v).transpose(1, 2).reshape(n, t, w)
        x = self.norm1(x + self.drop(self.proj(a)))
        return self.norm2(x + self.drop(self.down(F.gelu(self.up(x)))))


class OwnBert(nn.Module):
    def __init__(self, layers=12, width=768, heads=12, dropout=0.1, with_head=False):
        super().__init__()
        self.words, self.places = nn.Embedding(BERT_WORDS, width), nn.Embedding(512, width)
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(dropout)
        self.layers = nn.Sequential(*(BertLayer(width, heads, dropout) for _ in range(layers)))
        self.head = nn.Linear(width, BERT_WORDS) if with_head else None

    def forward(self, x, labels=None):
        places = torch.arange(x.shape[1], device=x.device)
        y = self.layers(self.drop(self.norm(self.words(x) + self.places(places))))
        if self.head is None:
            return y
        return F.cross_entropy(self.head(y).flatten(0, 1), labels.flatten())


def bert(training=False, own=False, small=False):
    """Returns the model, a function (model, words) -> output or loss, and where it is from."""
    if not own and not small:
        try:
            import transformers
            from transformers import BertConfig, BertForMaskedLM, BertModel
            config = BertConfig()
            where = "transformers " + transformers.__version__
            if training:
                return BertForMaskedLM(config), lambda m, x: m(x, labels=x).loss, where
            return BertModel(config), lambda m, x: m(x), where
        except ImportError:
            pass
    size = {"layers": 2, "width": 64, "heads": 2} if small else {}
    model = OwnBert(with_head=training, **size)
    return model, (lambda m, x: m(x, x)) if training else (lambda m, x: m(x)), "own"


# ---- a decoder that makes one token at a time ----

class GptLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, keys, values, place):
        q, k, v = self.qkv(self.norm1(x)).view(1, 3, self.heads, 1, -1).unbind(1)
        keys[:, :, place:place + 1] = k
        values[:, :, place:place + 1] = v
        a = attend(q, keys[:, :, :place + 1], values[:, :, :place + 1])
        x = x + self.proj(a.reshape(1, -1))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """step() reads the token made last, and makes the next one; the keys and values stay."""

    def __init__(self, layers=12, width=768, heads=12, words=50257, places=128):
        super().__init__()
        self.shape = (1, heads, places, width // heads)
        self.n_places, self.place = places, 0
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.layers = nn.ModuleList(GptLayer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.cache, self.token = None, None

    def begin(self):
        weight = self.words.weight
        self.cache = [(weight.new_zeros(self.shape), weight.new_zeros(self.shape))
                      for _ in self.layers]
        self.token = torch.ones(1, dtype=torch.long, device=weight.device)

    def step(self):
        x = self.words(self.token) + self.places.weight[self.place]
        for layer, (keys, values) in zip(self.layers, self.cache):
            x = layer(x, keys, values, self.place)
        self.token = (self.norm(x) @ self.words.weight.t()).argmax(-1)
        self.place = (self.place + 1) % self.n_places


def gpt(small=False):
    return Gpt(layers=2, width=64, heads=2, words=1000, places=32) if small else Gpt()


# ---- trainings of the kinds and sizes of Tally's table; the models are our own ----

class PointNet(nn.Module):
    """Every point by itself, then the greatest of all: many small kernels."""

    def __init__(self, classes=40):
        super().__init__()
        widths = (3, 64, 64, 64, 128, 1024)
        self.points = nn.Sequential(*(layer for a, b in zip(widths, widths[1:]) for layer in
                                      (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())))
        self.head = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Dropout(0.3), nn.Linear(512, 256),
                                  nn.ReLU(), nn.Linear(256, classes))

    def forward(self, x):
        return self.head(self.points(x).amax(-1))


class Audio(nn.Module):
    """A spectrogram to half as many vectors."""

    def __init__(self, bands, width):
        super().__init__()
        self.first = nn.Conv1d(bands, width, 3, padding=1)
        self.second = nn.Conv1d(width, width, 3, stride=2, padding=1)

    def forward(self, x):
        return F.gelu(self.second(F.gelu(self.first(x)))).transpose(1, 2)


class Translator(nn.Module):
    """An encoder and a decoder of equally many layers; returns the loss."""

    def __init__(self, front, width, heads, layers, words):
        super().__init__()
        size = {"d_model": width, "nhead": heads, "dim_feedforward": 4 * width, "batch_first": True,
                "activation": "gelu"}
        self.front, self.words = front, nn.Embedding(words, width)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**size), layers,
                                             enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**size), layers)

    def forward(self, x, labels):
        y = self.decoder(self.words(labels), self.encoder(self.front(x)))
        return F.cross_entropy((y @ self.words.weight.t()).flatten(0, 1), labels.flatten())


def pointnet(small):
    x, y = torch.randn(2 if small else 64, 3, 1024), torch.randint(0, 40, (2 if small else 64,))
    return PointNet(), lambda model: F.cross_entropy(model(x), y)


def gpt2(small):
    """As large as GPT-2 large."""
    size = {"layers": 2, "width": 64, "heads": 2} if small else {"layers": 36, "width": 1280, "heads": 20}
    x = torch.randint(0, BERT_WORDS, (2, 16 if small else 512))
    return OwnBert(with_head=True, **size), lambda model: model(x, x)


def pegasus(small):
    """As large as PEGASUS-X base; its attention is the plain one."""
    width, heads, layers, length = (64, 2, 2, 32) if small else (768, 12, 12, 2048)
    x, y = torch.randint(0, PEGASUS_WORDS, (2, length)), torch.randint(0, PEGASUS_WORDS, (2, 128))
    model = Translator(nn.Embedding(PEGASUS_WORDS, width), width, heads, layers, PEGASUS_WORDS)
    return model, lambda model: model(x, y)


def whisper(small):
    """As large as Whisper large."""
    width, heads, layers, length = (64, 2, 2, 64) if small else (1280, 20, 32, 3000)
    x, y = torch.randn(2, 128, length), torch.randint(0, WHISPER_WORDS, (2, 64))
    model = Translator(Audio(128, width), width, heads, layers, WHISPER_WORDS)
    return model, lambda model: model(x, y)


TRAININGS = {"pointnet-train": pointnet, "gpt2-train": gpt2, "pegasus-train": pegasus,
             "whisper-train": whisper}
